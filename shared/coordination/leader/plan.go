package leader

import (
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination/epoch"
	"github.com/holdfast-project/holdfast/shared/coordination/group"
	"github.com/holdfast-project/holdfast/shared/coordination/leader/forming"
	"github.com/holdfast-project/holdfast/shared/coordination/leader/workload"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
	"github.com/holdfast-project/holdfast/shared/recovering"
	"github.com/holdfast-project/holdfast/shared/series"
)

// Plan is what to do next. If it needs reads or has actions, it is followed by another plan that rests on them; else the group is as it
// should be.
type Plan struct {
	Rule    string // that made it
	Need    Need
	Actions []Action // idempotent, and independent of each other
	Err     error    // another process leads

	// To be reported once the actions have succeeded.
	Events []Event
	Counts []Count

	// Of the last plan of a reconcile:
	Group      *group.Summary       // nil: there is none
	Waits      map[forming.Kind]int // what workers wait for that have not joined for the first time
	Forms      bool                 // workers are still to join for the first time
	Restarting bool                 // a restart is in progress
	Over       bool                 // the owner wants no group
	Resync     time.Duration        // when to plan again though nothing is heard; 0: no need
}

// Need is what a plan has to know before it goes on. Reading objects is followed by reading the group, so that a leader that was replaced
// meanwhile does not act on them.
type Need struct {
	Missing  []int // units
	Holders  []string
	Finished []string // slots
	History  bool
	Nodes    []string
	Pods     []*workload.Pod
	Jobs     []*workload.Job
	Slots    []SlotNeed
}

// SlotNeed asks for all pods of a slot.
type SlotNeed struct {
	Slot  string
	Job   *workload.Job
	Index int
	Since []string // versions that have to be in the list; none: it is read as of now
	Twin  bool     // it goes to Reads.Twins
}

func (n *Need) empty() bool {
	return len(n.Missing)+len(n.Holders)+len(n.Finished)+len(n.Nodes)+len(n.Pods)+len(n.Jobs)+len(n.Slots) == 0 && !n.History
}

// Objects reports whether objects are to be read past the cache.
func (n *Need) Objects() bool { return len(n.Pods)+len(n.Jobs)+len(n.Slots) > 0 }

// Action is one thing to do. An action with a key is tried once in a reconcile.
type Action interface{ key() string }

// WriteGroup writes the group into the store. It reports false if the group has moved on.
type WriteGroup struct {
	group.Write
	Replaces bool // what is unreadable is dropped first
}

// DropGroup removes the group from the store.
type DropGroup struct{}

// Release takes a pod out of its slot, so that what may still run of it moves the group no more.
type Release struct {
	Unit int
	rounds.Slot
	PodName string
	For     string // the slot for whose sake, which has failed; mostly its own
}

// Annotate writes annotations of the owner in one compare-and-set on the object as it was observed.
type Annotate struct {
	Epoch           *epoch.Record
	Charged         *int32
	Recovering      *recovering.State // the mark
	ClearRecovering bool
	History         *string
	Accounted       accountMemory // with the history
	Report          *string       // of the roster; empty: it is removed
	LedBy           *string       // the claim
}

// SetConditions writes the conditions; nil ones are removed.
type SetConditions struct{ InSync, Recovering *Condition }

// DeletePod deletes a pod, if it still is the one that was observed.
type DeletePod struct {
	Pod  *workload.Pod
	Slot string
	Why  string
	For  Purpose
	// Exactly: only as it was observed.
	Exactly bool
}

// Force reports whether the pod is given no time to end.
func (d DeletePod) Force() bool { return d.For == ForDead || d.For == ForTwin }

// Purpose of a deletion.
type Purpose string

// Purposes.
const (
	ForForming Purpose = "forming" // its worker has not joined for the first time
	ForRestart Purpose = "restart" // its worker does not come back
	ForFence   Purpose = "fence"   // it was released from its slot, and nobody else is there
	ForDead    Purpose = "dead"    // nothing of it runs any more
	ForTwin    Purpose = "twin"    // the Job controller has made one too
	ForEpoch   Purpose = "epoch"   // of a Job, or of a pod whose owner has no other Job: it is of an earlier epoch
	ForMissed  Purpose = "missed"  // of a Job: not all Jobs of its owner carry agents
)

// DeleteJob deletes a Job and its pods; its owner makes it again.
type DeleteJob struct {
	Job  *workload.Job
	Slot string // for whose sake
	Why  string
	For  Purpose
}

// MoveJob takes a suspended Job along into an epoch, so that the pods that it makes are of that.
type MoveJob struct {
	Job   *workload.Job
	Epoch int32
}

// FailOwner ends the owner as failed.
type FailOwner struct{ Message string }

// CreatePod makes a pod in place of lost ones.
type CreatePod struct {
	Slot  string
	Job   *workload.Job
	Index int
	Round Round
	Lost  []string // UIDs. Of two leaders that replace the same pods for the same round one succeeds.
	Retry bool     // there was one for the slot in this round already
}

// Round of a generation.
type Round struct{ Generation, Round int64 }

func (WriteGroup) key() string    { return "" }
func (DropGroup) key() string     { return "" }
func (Annotate) key() string      { return "" }
func (SetConditions) key() string { return "conditions" }
func (a Release) key() string     { return "release " + a.Pod + " of " + a.Name }
func (a DeletePod) key() string   { return "delete " + a.Pod.UID }
func (a DeleteJob) key() string   { return "delete " + a.Job.UID }
func (a CreatePod) key() string   { return "create " + a.Slot }
func (a MoveJob) key() string     { return "move " + a.Job.UID }
func (FailOwner) key() string     { return "fail" }

// Done is an action that was tried.
type Done struct {
	Action
	Result
}

// Result of an action.
type Result struct {
	Err     error
	Refused string        // the API server does not want the pod; it is left to its Job
	Moot    bool          // it was not necessary, or not possible any more
	Pod     *workload.Pod // that was created
}

// OK reports whether the action has changed something.
func (r Result) OK() bool { return r.Err == nil && r.Refused == "" && !r.Moot }

// Event is for people.
type Event struct {
	Warning      bool
	Reason, Note string
}

// Count is added to a metric.
type Count struct {
	Metric series.Metric
	Labels []string
	By     float64
}

// Acts reports whether another plan follows this one.
func (p Plan) Acts() bool { return !p.Need.empty() || len(p.Actions) > 0 }

// Condition of the owner.
type Condition struct {
	True            bool
	Reason, Message string
	Version         int64 // of the specification that was observed
}

// accountMemory is what was accounted for: each restart becomes one line of the history and one observation of the metrics, however
// often it is observed and by any leader. The numbers stand in for an annotation that the cache does not show yet.
type accountMemory struct {
	counted int64        // number of the last restart that was accounted for
	level   rounds.Level // when the history was last read; without a phase: it was not
}
