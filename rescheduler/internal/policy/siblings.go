package policy

import "time"

// Suspect is whom the siblings of a pod speak against.
type Suspect int

const (
	Unknown     Suspect = iota // they say nothing: there are none, or none for long enough
	TheNode                    // one runs well on another node
	TheWorkload                // they fail in the same way on other nodes
)

// suspicion compares a pod with those of its template. A pod that is alone is never held back by it: nobody speaks against it.
func suspicion(node, class string, siblings []Sibling, wellness time.Duration, now time.Time) Suspect {
	failing := map[string]bool{}
	well := false
	for _, s := range siblings {
		switch {
		case s.Node == "" || s.Node == node:
		case s.Class == class:
			failing[s.Node] = true
		case !s.Ready.IsZero() && now.Sub(s.Ready) >= wellness:
			well = true
		}
	}
	switch {
	case len(failing) >= 2:
		return TheWorkload
	case well:
		return TheNode
	}
	return Unknown
}
