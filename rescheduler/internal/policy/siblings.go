package policy

import "time"

// Suspect is whom the siblings of a pod speak against.
type Suspect int

const (
	Unknown     Suspect = iota // they say nothing: there are none, or none for long enough
	TheNode                    // they run well on other nodes, on more than they fail on
	TheWorkload                // they fail in the same way on two other nodes or more, and run well on no more than those
)

// suspicion compares a pod with those of its template. A pod that is alone is never held back by it: nobody speaks against it.
func suspicion(node, class string, siblings []Sibling, wellness time.Duration, now time.Time) Suspect {
	failing, well := map[string]bool{}, map[string]bool{}
	for _, s := range siblings {
		switch {
		case s.Node == "" || s.Node == node:
		case s.Class == class:
			failing[s.Node] = true
		case !s.Ready.IsZero() && now.Sub(s.Ready) >= wellness:
			well[s.Node] = true
		}
	}
	switch {
	case len(well) > len(failing):
		return TheNode
	case len(failing) >= 2:
		return TheWorkload
	}
	return Unknown
}
