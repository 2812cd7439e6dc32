package forming

import "time"

// Answer says what to do about a step that has timed out.
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

// othersStarted returns when the last Job was started or the last pod scheduled, ignoring the pods of missing slots.
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
