package worker

import "github.com/holdfast-project/holdfast/shared/coordination/rounds"

// A pod works in the slot for which it was created, or in a slot that the leader has given it because another pod was lost. A spare has no slot until
// then, nor has a pod whose own slot was given to another pod. It waits, and reads its place again whenever the level changes.

// slot returns the slot that the pod works in. It has no name if the pod has none. A slot that the pod was given stays its slot even if the store has
// lost that. While the group has no such slot, the pod takes no part in the group.
func (s *State) slot() rounds.Slot {
	slot := s.config.Slot
	switch {
	case s.memory.Slot != "":
		slot.Name = s.memory.Slot
		if s.placed != nil && !s.placed.Has(slot.Name) {
			slot.Name = ""
		}
	case (s.config.Waits || s.placed != nil && s.placed.Spare) && !s.hasRun():
		slot.Name = ""
	}
	return slot
}

// hasRun reports whether a worker has run in this pod.
func (s *State) hasRun() bool {
	if s.memory.Ran {
		return true
	}
	for _, i := range s.instances {
		if i.Ran {
			return true
		}
	}
	return false
}
