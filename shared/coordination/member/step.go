package member

import "github.com/holdfast-project/holdfast/shared/coordination"

// place is where the slot is in a level.
type place struct{ step, stage int64 }

// entered tells whether the slot's step takes part in the group's rounds.
func (s *State) entered() bool {
	if s.place == nil {
		return false
	}
	_, ok := s.level.Entered(s.place.step)
	return ok
}

// forming tells whether the slot's step still forms. A member that does not know its step yet assumes so if any does.
func (s *State) forming() bool {
	if s.place == nil {
		return s.level.Forms()
	}
	return !s.entered() && !s.gone()
}

// gone tells whether the slot's stage has left the group.
func (s *State) gone() bool {
	return s.place != nil && s.level.StageLeft(s.place.step, s.place.stage)
}

// noteEntered gives the living instance the round that its step entered at, if that is higher than its own.
func (s *State) noteEntered() {
	l := s.current()
	if l == nil || l.round == coordination.NoRound || !l.under.SameLife(s.level) || !s.entered() {
		return
	}
	if round, _ := s.level.Entered(s.place.step); round > l.round {
		l.round = round
		s.memory.assign(l.Instance, s.level, round)
	}
	if s.memory.holds(l.ID) {
		s.memory.Entered = true
	}
}
