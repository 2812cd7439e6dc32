package forming

import "time"

// Answer is what to do for a step whose clock is over.
type Answer int

const (
	// Nothing: there is time left, or the clock does not run.
	Nothing Answer = iota
	// Replace deletes the pods of the missing slots.
	Replace
	// Recreate deletes all Jobs of the group.
	Recreate
)

// Answer replaces the pods of a minority once. A pod that was created a whole period after the others were scheduled is such a
// replacement. If most are missing, that is not the fault of single pods.
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

// othersStarted is when the last of the Jobs was started and the last pod scheduled, without the pods that are missing.
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
