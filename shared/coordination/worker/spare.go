package worker

import (
	"cmp"
	"slices"

	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
)

// adoptPlace adopts what the leader has decided about the pod. A pod that has run a worker in one slot does not work in another, because peers may
// have connected to it there.
func (s *State) adoptPlace(p *rounds.Place) {
	before := s.slot().Name
	s.placed = p
	switch works := cmp.Or(s.memory.Slot, s.config.Slot.Name); {
	case p.Given == "" && p.Spare && s.memory.Slot == "" && s.hasRun():
		s.ousted = true
	case p.Given == "" || p.Given == s.memory.Slot:
	case p.Given != works && s.hasRun():
		s.fence("it works in slot " + works + " but was assigned " + p.Given)
	default:
		s.log(info, "this pod was assigned a slot", "slot", p.Given)
		if p.Given != before {
			s.takeBack()
		}
		s.memory.Slot = p.Given
	}
}

// becomeSpare resets the state of a pod whose own slot was assigned to another pod, once its worker has ended.
func (s *State) becomeSpare() {
	i := s.current()
	if !s.ousted || s.leaving || i != nil && i.Ran {
		return
	}
	s.log(warning, "this pod's slot was assigned to another pod; the worker has ended, and the pod is now waiting as a spare", "slot", s.config.Slot.Name)
	for _, i := range slices.Clone(s.instances) {
		if i.Ran {
			s.forget(i)
		}
	}
	s.ousted, s.memory.Ran, s.memory.DiedIn, s.memory.Finished = false, false, NoRound, ""
}

// askForSlot reads what the leader has decided about a pod without a slot. It is called when the level has changed.
func (s *State) askForSlot() {
	switch {
	case s.fenced || s.placed == nil || s.slot().Name != "":
	case s.reading:
		s.readOn = true
	default:
		s.read()
	}
}

// refused discards an earlier join because another pod holds the slot: the join was in data that was lost in a failover. If no worker has run in the
// pod, its assigned slot is discarded, too.
func (s *State) refused(i *instance) {
	if !i.Ran && i.Round != NoRound {
		i.Round = NoRound
		s.remember(i)
	}
	if s.memory.Slot != "" && !s.hasRun() {
		s.memory.Slot = ""
		s.read()
	}
}

// takeBack discards the joins of waiting instances, because they were in another slot.
func (s *State) takeBack() {
	for _, i := range s.instances {
		if !i.Ran && i.Round != NoRound {
			i.Round, i.joined = NoRound, place{}
			s.remember(i)
		}
	}
}
