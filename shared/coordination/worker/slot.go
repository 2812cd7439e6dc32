package worker

import (
	"slices"

	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
)

// A pod works in the slot for which it was created, or in a slot that the leader has assigned to it because another pod was lost. A spare has no slot
// until it is assigned one, and neither does a pod whose own slot was assigned to another pod. Such a pod waits, and reads the leader's decision
// again whenever the level changes.

// slot returns the slot in which the pod works. Its name is empty if the pod has no slot. An assigned slot remains the pod's slot even if the store
// has lost the assignment. If the slot no longer exists in the group, the pod has no slot.
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
	return s.memory.Ran || slices.ContainsFunc(s.instances, func(i *instance) bool { return i.Ran })
}
