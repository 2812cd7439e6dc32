// Package forming decides what to do about workers that have not joined their group yet, when it starts or after a full
// recreation. It is pure: its input is the Jobs and pods of one step and the time.
//
//	the step may start                               forming-timeout             twice forming-timeout
//	|                                                |                           |
//	|  exits of containers are charged               |  the missing pods are     |  all Jobs are recreated
//	|  an event names the missing workers, and why   |  recreated, if few        |  (charged), or the owner fails
//
// The clock of a step starts at the latest of these times: the group opened, its Jobs started, its pods were scheduled. It is
// paused while one of the step's Jobs is missing or suspended, or one of its pods is unscheduled. All of these times are in the
// API, so a new leader continues the same clock. Replacing a pod restarts the clock.
package forming

import (
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination/leader/workload"
)

// KindForming is the cause of a recreation after workers did not join in time.
const KindForming = "forming"

// Slot is one slot of a step that has not formed.
type Slot struct {
	Name   string
	Job    *workload.Job // nil if it has not been created yet
	Before *workload.Job // if Job is nil: the Job of the same name that is still being deleted, or nil
	Pod    *workload.Pod // the newest pod of the Job, or nil
	Failed int32         // how many earlier pods of the Job have failed
}

// worker returns the name of the container that joins the group, or "" if it is unknown.
func (s Slot) worker() string {
	if s.Job == nil {
		return ""
	}
	return s.Job.Worker
}

// Step is a set of slots that start together and have not all joined.
type Step struct {
	Slots []Slot // all slots of the step
	// Missing are the known slots that have not joined.
	Missing []Slot
	// Waiting is the number of slots that have not joined.
	Waiting int64
	// Opened is when the group opened, or zero if that was before this step could start.
	Opened time.Time
	// Answered is when the leader last deleted pods of the step, or zero if unknown. Their Job backs off before it replaces them.
	Answered time.Time
	Period   time.Duration // forming-timeout
	Now      time.Time
}
