package orchestrator

import (
	"github.com/holdfast-project/holdfast/shared/coordination/leader"
	"github.com/holdfast-project/holdfast/shared/recovering"
)

// mark is the annotation that asks higher rungs of the ladder to wait while a round is being restarted. Without one it is
// what takes ours away; a mark of another rung is not ours.
func (s *scope) mark(set bool) map[string]string {
	if !set {
		if s.marked() == leader.Unmarked {
			return map[string]string{}
		}
		return map[string]string{recovering.Annotation: ""}
	}
	state := recovering.State{
		Rung: recovering.RungGroup, Reason: causeText(s.group.Record.Cause), Deadline: s.clock.Start.Add(s.clock.Period),
	}
	return map[string]string{recovering.Annotation: state.Format()}
}

// marked tells what the JobSet carries. A deadline that has passed is one of an earlier round, or of a leader whose clock
// for this round began earlier.
func (s *scope) marked() leader.Mark {
	value, found := s.js.Annotations[recovering.Annotation]
	if !found {
		return leader.Unmarked
	}
	state, err := recovering.Parse(value)
	switch {
	case err != nil:
		return leader.Outdated
	case state.Rung != recovering.RungGroup:
		return leader.Unmarked
	case !s.now.Before(state.Deadline):
		return leader.Outdated
	}
	return leader.Marked
}
