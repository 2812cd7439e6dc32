package forming

import (
	"cmp"
	"slices"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination/leader/workload"
	"github.com/holdfast-project/holdfast/shared/grace"
)

// Clock returns a step's deadline, and whether its clock is running. A paused clock restarts from zero.
func (s Step) Clock() (deadline grace.Deadline, runs bool) {
	start := latest(s.opened(), s.Answered)
	for _, slot := range s.Slots {
		if slot.Job == nil || slot.Job.Suspended {
			return grace.Deadline{}, false
		}
		start = latest(start, startOf(slot))
		switch {
		case slot.Pod == nil:
		case slot.Pod.Deleting:
			start = latest(start, slot.Pod.Due)
		default:
			at, scheduled := scheduledAt(slot.Pod)
			if !scheduled {
				return grace.Deadline{}, false
			}
			start = latest(start, at)
		}
	}
	return grace.Deadline{Start: start, Period: s.Period}, true
}

// opened returns when the group opened, by the store's clock. If that clock is ahead, opened returns the zero time, so that the
// step's clock is not delayed.
func (s Step) opened() time.Time {
	if s.Opened.After(s.Now) {
		return time.Time{}
	}
	return s.Opened
}

func latest(a, b time.Time) time.Time { return slices.MaxFunc([]time.Time{a, b}, time.Time.Compare) }

// startOf returns when a slot's Job was created or last resumed.
func startOf(s Slot) time.Time { return cmp.Or(s.Job.Started, s.Job.Created) }

// scheduledAt returns when a pod was bound to its node, and whether it has a node. For a pod that was created with a node, it
// returns the creation time.
func scheduledAt(pod *workload.Pod) (time.Time, bool) {
	if c := pod.Scheduling; c != nil && c.Done {
		return c.At, true
	}
	return pod.Created, pod.Node != "" || pod.Phase == workload.Failed
}

// Answer is what to do about a step that has timed out.
type Answer int

const (
	// Nothing means that there is time left or that the clock is paused.
	Nothing Answer = iota
	// Replace deletes the pods of the missing slots.
	Replace
	// Recreate deletes all Jobs of the group.
	Recreate
)

// Answer returns what to do about the step. If a minority of the workers is missing, their pods are replaced once; a pod created
// at least one period after the other slots started is such a replacement. If most workers are missing, individual pods are not
// the cause.
func (s Step) Answer() Answer {
	deadline, runs := s.Clock()
	switch {
	case s.Waiting == 0 || !runs || !deadline.Passed(s.Now):
		return Nothing
	case 2*s.Waiting > int64(len(s.Slots)) || int64(len(s.Missing)) < s.Waiting:
		return Recreate
	}
	replaced := s.othersStarted().Add(s.Period)
	for _, slot := range s.Missing {
		if slot.Pod == nil || slot.Pod.Deleting || !slot.Pod.Created.Before(replaced) {
			return Recreate
		}
	}
	return Replace
}

// othersStarted returns when the last Job was started or the last pod was scheduled, ignoring the pods of missing slots.
func (s Step) othersStarted() time.Time {
	missing := make(map[string]bool, len(s.Missing))
	for _, slot := range s.Missing {
		missing[slot.Name] = true
	}
	start := s.opened()
	for _, slot := range s.Slots {
		start = latest(start, startOf(slot))
		if slot.Pod != nil && !missing[slot.Name] {
			at, _ := scheduledAt(slot.Pod)
			start = latest(start, at)
		}
	}
	return start
}
