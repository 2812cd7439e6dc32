package member

import "github.com/holdfast-project/holdfast/shared/coordination"

// tellRound writes the round that an instance starting now will be given, if that changed. It comes before the order to
// stop, so that the next instance finds it. The join, which comes after the start, can only confirm it.
func (s *State) tellRound() {
	round, ok := s.expectedRound()
	next := WriteRound{s.level.Epoch, round}
	if ok && !s.config.Barrier && next != s.told {
		s.told = next
		s.do(next)
	}
}

// expectedRound foresees what the store will answer. In Running the living instance keeps its round, while a new one
// means that the old one is gone, and opens the next, unless its step still forms.
func (s *State) expectedRound() (int64, bool) {
	l := s.newest()
	known := l != nil && s.memory.holds(l.ID) && s.memory.Epoch == s.level.Epoch
	if s.early() {
		return 0, false // what the group does is none of this pod's
	}
	switch s.level.Phase {
	case coordination.Forming, coordination.Restarting:
		return s.level.Round, true
	case coordination.Running:
		switch {
		case known:
			return s.memory.Round, true
		case s.forming():
			return s.level.Round, true
		}
		return s.level.Round + 1, true
	case coordination.Recovering:
		return s.memory.Round, known
	default:
		return 0, false
	}
}
