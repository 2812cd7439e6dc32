package ladder

import (
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination/leader/workload"
	"github.com/holdfast-project/holdfast/shared/grace"
)

const (
	// podShare and jobShare are the shares of inplace-timeout after which a missing slot's pod and Job are recreated. An ordinary
	// restart fits into the first share. With the KEP-876 timeout of 60 s, the time between the two is enough for the Job
	// controller's ten-second back-off and the start of the new pod.
	podShare = 1.0 / 3
	jobShare = 2.0 / 3
	// SmallJob is the largest number of pods that a Job may have to be recreated for one of them.
	SmallJob = 16
)

// Round is the restart in progress.
type Round struct {
	Clock   grace.Deadline // objects created after it started belong to the round
	Now     time.Time
	Size    int64 // number of slots in the group
	Missing int64 // number of slots that have not joined
}

// Slot is a slot that has not joined the round.
type Slot struct {
	Job       *workload.Job // nil if there is none
	Completed bool          // the Job counts the slot's index as completed
	Pod       *workload.Pod // the slot's newest pod, or nil
}

// Scope says how much is recreated.
type Scope string

const (
	None Scope = ""
	Pod  Scope = "pod"
	Job  Scope = "job"
)

// Action says what to delete, and why. Why completes a sentence that begins with the worker's name.
type Action struct {
	Scope Scope
	Why   string
}
