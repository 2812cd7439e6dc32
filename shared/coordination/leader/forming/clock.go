package forming

import (
	"time"

	"github.com/holdfast-project/holdfast/shared/grace"
)

// Clock is the deadline of a step, and whether it runs. One that stands still starts again when it runs.
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

// opened is when the group opened, by the store's clock; one that is ahead does not hold the step's clock up.
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

// startOf is when a slot's Job was started: created, or resumed last.
func startOf(s Slot) time.Time {
	if !s.Job.Started.IsZero() {
		return s.Job.Started
	}
	return s.Job.Created
}
