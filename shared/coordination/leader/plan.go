package leader

import (
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/epoch"
	"github.com/holdfast-project/holdfast/shared/coordination/group"
	"github.com/holdfast-project/holdfast/shared/coordination/leader/forming"
	"github.com/holdfast-project/holdfast/shared/coordination/leader/workload"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
	"github.com/holdfast-project/holdfast/shared/recovering"
	"github.com/holdfast-project/holdfast/shared/series"
)

// Plan is what to do next. If it needs reads or has actions, another plan that takes their results into account follows. Otherwise
// the group is as wanted.
type Plan struct {
	Rule    string // the rule that made it
	Need    Need
	Actions []Action // idempotent, and independent of each other
	Err     error    // another process leads

	// Reported once the actions have succeeded:
	Events []Event
	Counts []Count

	// Set in the last plan of a reconcile:
	Group  *group.Summary       // nil if there is none
	Waits  map[forming.Kind]int // what workers wait for before their first join
	Forms  bool                 // some workers have not joined for the first time
	Over   bool                 // the owner wants no group
	Resync time.Duration        // when to plan again without an event; 0 if not needed
}

// Need is what a plan must read before it continues. After objects were read, the group is read again, so that a leader that was
// replaced meanwhile does not act on them.
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

// SlotNeed requests all pods of a slot.
type SlotNeed struct {
	Slot  string
	Job   *workload.Job
	Index int
	Since []string // versions that the list must include; if empty, the latest state is read
	Twin  bool     // the result goes to Reads.Twins
}

func (n *Need) empty() bool {
	return len(n.Missing)+len(n.Holders)+len(n.Finished)+len(n.Nodes)+len(n.Pods)+len(n.Jobs)+len(n.Slots) == 0 && !n.History
}

// Objects reports whether objects must be read live.
func (n *Need) Objects() bool { return len(n.Pods)+len(n.Jobs)+len(n.Slots) > 0 }

// Action is one thing to do. An action with a key is tried once in a reconcile.
type Action interface{ key() string }

// WriteGroup writes the group into the store. It has no effect if the stored group has changed.
type WriteGroup struct {
	group.Write
	Replaces bool // unreadable data is dropped first
}

// DropGroup removes the group from the store.
type DropGroup struct{}

// Release releases a pod from its slot, so that what may still run in it no longer affects the group.
type Release struct {
	Unit        int
	rounds.Slot // without a pod, the slot is only given
	PodName     string
	Node        string      // the pod's; empty if it is unknown
	For         string      // the slot whose failure is the reason, usually the pod's own
	Heir        rounds.Slot // the pod that gets the slot if no other pod holds it then, and the name of its own slot; zero if there is none
}

// Cause returns what the history of the group says about a release.
func (a Release) Cause() string {
	if a.For != a.Name {
		return rounds.LostPod(a.For, coordination.Place{})
	}
	return rounds.LostPod(a.For, coordination.Place{PodName: a.PodName, Node: a.Node})
}

// AnnotatePod writes the slot that a pod was given on the pod, in case the store loses its data.
type AnnotatePod struct {
	Pod  *workload.Pod
	Slot string
}

// Annotate writes annotations of the owner in one compare-and-set on the observed object.
type Annotate struct {
	Epoch           *epoch.Record
	Charged         *int32
	Recovering      *recovering.State // the mark
	ClearRecovering bool
	History         *string
	Report          *string // report for the roster; removed if empty
	LedBy           *string // the claim
}

// SetConditions writes the conditions. It removes those that are nil.
type SetConditions struct{ InSync, Recovering *Condition }

// DeletePod deletes a pod, if it is still the observed one.
type DeletePod struct {
	Pod  *workload.Pod
	Slot string
	Why  string
	For  Purpose
	// Exactly: only if the pod has not changed since it was observed.
	Exactly bool
}

// Force reports whether the pod gets no time to end.
func (d DeletePod) Force() bool { return d.For == ForDead || d.For == ForTwin }

// Purpose is why something is deleted.
type Purpose string

// The purposes.
const (
	ForForming Purpose = "forming" // its worker has not joined for the first time
	ForRestart Purpose = "restart" // its worker does not come back
	ForFence   Purpose = "fence"   // it was released from its slot, and the slot has no other pod
	ForDead    Purpose = "dead"    // nothing in it runs
	ForTwin    Purpose = "twin"    // the Job controller has created a pod for the slot, too
	ForEpoch   Purpose = "epoch"   // it is of an earlier epoch; for a Job, or for a pod of an owner with Alone
	ForMissed  Purpose = "missed"  // not all Jobs of the owner have agents; for a Job or a pod
)

// DeleteJob deletes a Job and its pods. Its owner creates it again.
type DeleteJob struct {
	Job  *workload.Job
	Slot string // for ForRestart: the slot that did not join
	Why  string
	For  Purpose
}

// MoveJob moves a suspended Job to an epoch, so that the pods that it creates belong to the epoch.
type MoveJob struct {
	Job   *workload.Job
	Epoch int32
}

// FailOwner ends the owner as failed.
type FailOwner struct{ Message string }

// CreatePod creates a pod in place of lost ones.
type CreatePod struct {
	Slot  string
	Job   *workload.Job
	Index int
	Round Round
	Lost  []string // UIDs; if two leaders replace the same pods in the same round, only one succeeds
	Retry bool     // a pod was created for the slot in this round before
	Waits bool     // the slot was given to another pod, or may have been: the new pod waits until it is given a slot
}

// Round is a round of a generation.
type Round struct{ Generation, Round int64 }

func (WriteGroup) key() string    { return "" }
func (DropGroup) key() string     { return "" }
func (Annotate) key() string      { return "" }
func (SetConditions) key() string { return "conditions" }
func (a Release) key() string     { return "release " + a.Pod + " of " + a.Name }
func (a AnnotatePod) key() string { return "annotate " + a.Pod.UID }
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

// Result is the result of an action.
type Result struct {
	Err     error
	Refused string        // the API server rejects the pod, which is left to its Job
	Moot    bool          // it was no longer needed or possible
	Pod     *workload.Pod // the pod that was created
}

// OK reports whether the action has changed something.
func (r Result) OK() bool { return r.Err == nil && r.Refused == "" && !r.Moot }

// Event is an event for the owner.
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

// Condition is a condition of the owner.
type Condition struct {
	True            bool
	Reason, Message string
	Version         int64 // generation of the observed specification
}
