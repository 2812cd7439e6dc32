package ladder

import (
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination/leader/workload"
	"github.com/holdfast-project/holdfast/shared/grace"
)

const (
	// podShare and jobShare are the shares of inplace-timeout after which a missing slot's pod and Job are recreated. The first
	// share is long enough for an ordinary restart. With the KEP-876 timeout of 60 s, the time between the two is enough for the
	// Job controller's back-off of ten seconds and the start of the new pod.
	podShare = 1.0 / 3
	jobShare = 2.0 / 3
	// SmallJob is the largest number of pods in a Job that is recreated for one of them.
	SmallJob = 16
)

// Round is the restart in progress.
type Round struct {
	Clock   grace.Deadline // objects created after its start belong to the round
	Now     time.Time
	Size    int64 // number of slots in the group
	Missing int64 // how many of them have not joined
}

// Slot is a slot that has not joined the round.
type Slot struct {
	Job       *workload.Job // nil if there is none
	Completed bool          // the Job counts the slot's index as completed
	Pod       *workload.Pod // the newest pod, or nil
}

// Scope is how much is recreated.
type Scope string

const (
	None Scope = ""
	Pod  Scope = "pod"
	Job  Scope = "job"
)

// Action is what to delete, and why. Why continues a sentence that begins with the worker's name.
type Action struct {
	Scope Scope
	Why   string
}
