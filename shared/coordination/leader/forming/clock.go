package forming

import (
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination/leader/workload"
	"github.com/holdfast-project/holdfast/shared/grace"
)

// Clock returns the deadline of a step, and whether its clock is running. A paused clock restarts from zero.
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

// opened returns when the group opened, by the store's clock. If that clock is ahead, it returns the zero time, so that it does not
// delay the step's clock.
func (s Step) opened() time.Time {
	if s.Opened.After(s.Now) {
		return time.Time{}
	}
	return s.Opened
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// startOf returns when a slot's Job was created or last resumed.
func startOf(s Slot) time.Time {
	if !s.Job.Started.IsZero() {
		return s.Job.Started
	}
	return s.Job.Created
}

// scheduledAt returns when a pod was bound to its node, and whether it has a node. For a pod that was created with a node, it
// returns the creation time.
func scheduledAt(pod *workload.Pod) (time.Time, bool) {
	if c := pod.Scheduling; c != nil && c.Done {
		return c.At, true
	}
	return pod.Created, pod.Node != "" || pod.Phase == workload.Failed
}
