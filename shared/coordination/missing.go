package coordination

// MissingLimit bounds what Missing returns: more than a leader can repair one by one.
const MissingLimit = 10000

// Missing lists the slots that have to be in sync and are not, in the order of the stages, at most MissingLimit: those of
// the steps that have entered; before the first one, all. It looks at every slot: ask only when a round takes too long.
func (g *Group) Missing() []string {
	missing := []string{}
	for i, s := range g.Stages {
		for n := int64(0); g.expected(i) && n < s.Slots(); n++ {
			name := s.Slot(n/s.Pods, n%s.Pods)
			if g.counted(i, g.Slots[name]) {
				continue
			}
			if missing = append(missing, name); len(missing) == MissingLimit {
				return missing
			}
		}
	}
	return missing
}
