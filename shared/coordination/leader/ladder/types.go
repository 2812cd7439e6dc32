package ladder

import (
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination/leader/workload"
	"github.com/holdfast-project/holdfast/shared/grace"
)

const (
	// podShare and jobShare are the parts of inplace-timeout after which a missing slot's pod and Job are recreated. The
	// first leaves an ordinary restart alone; the second leaves the new pod of the first the Job controller's back-off of
	// ten seconds and a start, with the seed's 60 s.
	podShare = 1.0 / 3
	jobShare = 2.0 / 3
	// SmallJob is the most pods of a Job that is recreated for one of them.
	SmallJob = 16
)

// Round is the restart in progress.
type Round struct {
	Clock   grace.Deadline // what was created since its start belongs to the round
	Now     time.Time
	Size    int64 // slots of the group
	Missing int64 // of them, those that have not joined
}

// Slot is a slot that has not joined the round.
type Slot struct {
	Name      string
	Job       *workload.Job // nil: not there
	Completed bool          // the Job counts the slot's index as completed
	Pod       *workload.Pod // the newest one; nil: none
}

// Scope is how much is recreated.
type Scope string

const (
	None Scope = ""
	Pod  Scope = "pod"
	Job  Scope = "job"
)

// Action is what to delete, and why: the end of a sentence that begins with the worker's name.
type Action struct {
	Scope Scope
	Why   string
}
