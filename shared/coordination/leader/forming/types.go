package forming

import (
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination/leader/workload"
)

// KindForming is the cause of a recreation of workers that did not join in time.
const KindForming = "forming"

// Slot is one slot of a step that has not formed.
type Slot struct {
	Name   string
	Job    *workload.Job // nil: not created yet
	Before *workload.Job // without a Job: the one of its name that is still being deleted, or nil
	Pod    *workload.Pod // the newest of the Job; nil: none
	Failed int32         // pods of the Job that have failed before that one
}

// worker is the name of the container that joins; empty: not known.
func (s Slot) worker() string {
	if s.Job == nil {
		return ""
	}
	return s.Job.Worker
}

// Step is a set of slots that start together and have not all joined.
type Step struct {
	Slots []Slot // all of them
	// Missing are those that have not joined, as far as it is known which ones.
	Missing []Slot
	// Waiting is how many have not joined.
	Waiting int64
	// Opened is when the group opened; zero if it had opened before this step could start.
	Opened time.Time
	// Answered is when the leader deleted pods of the step last, zero if it does not know: their Job waits before it replaces them.
	Answered time.Time
	Period   time.Duration // forming-timeout
	Now      time.Time
}
