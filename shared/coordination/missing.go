package coordination

import "fmt"

// MissingLimit bounds what Missing returns: more than a leader can repair one by one.
const MissingLimit = 10000

// Missing lists the slots that have not joined the desired round, in the order of the stages, at most MissingLimit. It
// looks at every slot: ask only when a round takes too long.
func (g *Group) Missing() []string {
	missing := []string{}
	for _, s := range g.Stages {
		for n := int64(0); n < s.Slots(); n++ {
			name := s.Slot(n/s.Pods, n%s.Pods)
			if g.counted(g.Slots[name]) {
				continue
			}
			if missing = append(missing, name); len(missing) == MissingLimit {
				return missing
			}
		}
	}
	return missing
}

// Slot is the name of a slot of the stage.
func (s Stage) Slot(job, pod int64) string { return fmt.Sprintf("%s-%d-%d", s.Prefix, job, pod) }
