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

// Plan is what to do next. If it needs reads or has actions, it is followed by another plan that takes their results into account.
// If it has neither, the group is in the desired state.
type Plan struct {
	Rule    string // the rule that made the plan
	Need    Need
	Actions []Action // idempotent, and independent of each other
	Err     error    // another process leads

	// Reported once the actions have succeeded:
	Events []Event
	Counts []Count

	// Set only in the last plan of a reconcile:
	Group *group.Summary // nil if there is none
	// Waits counts the workers that have not joined yet since the group was opened, by what they are waiting for. It is nil if all have
	// joined, and empty until it is time to name them.
	Waits  map[forming.Kind]int
	Over   bool          // the owner wants no group
	Resync time.Duration // when to plan again if no event arrives earlier; 0 if not needed
}

// Need lists what must be read before planning can continue. After objects have been read, the group is read again, so that a leader
// that has since been replaced does not act on them.
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

// SlotNeed requests all pods of a slot. The list must not be older than the pods in the Observation.
type SlotNeed struct {
	Slot  string
	Job   *workload.Job
	Index int
}

func (n *Need) empty() bool {
	return len(n.Missing)+len(n.Holders)+len(n.Finished)+len(n.Nodes)+len(n.Pods)+len(n.Jobs)+len(n.Slots) == 0 && !n.History
}

// Objects reports whether objects must be read live from the API server.
func (n *Need) Objects() bool { return len(n.Pods)+len(n.Jobs)+len(n.Slots) > 0 }

// Action is a change to make. An action with a key is tried once per reconcile.
type Action interface{ key() string }

// WriteGroup writes the group to the store. It has no effect if the stored group has changed.
type WriteGroup struct {
	group.Write
	Replaces bool // drop unreadable data first
}

// DropGroup removes the group from the store.
type DropGroup struct{}

// Release releases a pod from its slot, so that anything still running in the pod no longer affects the group.
type Release struct {
	Unit        int
	rounds.Slot // without a pod, the slot is only assigned to the heir
	PodName     string
	Node        string      // the pod's node; empty if unknown
	For         string      // the slot whose failure is the reason, usually the same slot
	Heir        rounds.Slot // the pod that is assigned the slot, if no other pod holds it by then, and the name of that pod's own slot; zero if there is none
}

// Cause returns the cause that the group's history records for a release.
func (a Release) Cause() string {
	if a.For != a.Name {
		return rounds.LostPod(a.For, coordination.Place{})
	}
	return rounds.LostPod(a.For, coordination.Place{PodName: a.PodName, Node: a.Node})
}

// AnnotatePod annotates a pod with the slot assigned to it, in case the store loses its data.
type AnnotatePod struct {
	Pod  *workload.Pod
	Slot string
}

// Annotate writes annotations on the owner in one compare-and-set on the observed object.
type Annotate struct {
	Epoch           *epoch.Record
	Charged         *int32
	Recovering      *recovering.State // marks the restart or recreation in progress
	ClearRecovering bool
	History         *string
	Report          *string // report to the roster's owner; removed if empty
	LedBy           *string // claims the owner for an installation
}

// SetConditions writes the conditions. It removes conditions that are nil.
type SetConditions struct{ InSync, Recovering *Condition }

// DeletePod deletes a pod, if it is still the observed pod.
type DeletePod struct {
	Pod  *workload.Pod
	Slot string
	Why  string
	For  Purpose
}

// Force reports whether to delete the pod without a grace period.
func (d DeletePod) Force() bool { return d.For == ForDead }

// Purpose is why something is deleted.
type Purpose string

const (
	ForForming Purpose = "forming" // its worker has not joined in time since the group was opened
	ForRestart Purpose = "restart" // its worker did not rejoin after a restart
	ForFence   Purpose = "fence"   // it was released from its slot, and the slot has no other pod
	ForDead    Purpose = "dead"    // nothing is running in it
	ForEpoch   Purpose = "epoch"   // it belongs to an earlier epoch; for a Job, or for a pod if Served.Alone is set
	ForMissed  Purpose = "missed"  // not all Jobs of the owner have agents; for a Job or a pod
)

// DeleteJob deletes a Job and its pods. The owner's controller creates the Job again.
type DeleteJob struct {
	Job  *workload.Job
	Slot string // for ForRestart: the slot that did not join
	Why  string
	For  Purpose
}

// MoveJob moves a suspended Job to an epoch, so that the pods that it will create belong to that epoch.
type MoveJob struct {
	Job   *workload.Job
	Epoch int32
}

// FailOwner marks the owner as failed.
type FailOwner struct{ Message string }

// CreatePod creates a pod to replace lost pods of a slot.
type CreatePod struct {
	Slot  string
	Job   *workload.Job
	Index int
	Round Round
	Lost  []string // UIDs of the lost pods; if two leaders replace the same pods in the same round, only one of them succeeds
	Retry bool     // a pod has already been created for the slot in this round
	Waits bool     // the slot is or may be assigned to another pod, so the new pod waits until it is assigned a slot
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

// Done is an action that was tried, with its result.
type Done struct {
	Action
	Result
}

// Result is the result of an action.
type Result struct {
	Err     error
	Refused string        // why the API server rejected the pod; its creation is then left to the Job
	Moot    bool          // the action was no longer needed or possible
	Pod     *workload.Pod // the created pod
}

// OK reports whether the action changed something.
func (r Result) OK() bool { return r.Err == nil && r.Refused == "" && !r.Moot }

// Event is an event for the owner.
type Event struct {
	Warning      bool
	Reason, Note string
}

// Count is an increment of a metric.
type Count struct {
	Metric series.Metric
	Labels []string
	By     float64
}

// Acts reports whether another plan must follow this one.
func (p Plan) Acts() bool { return !p.Need.empty() || len(p.Actions) > 0 }

// Condition is a condition of the owner.
type Condition struct {
	True            bool
	Reason, Message string
	Version         int64 // generation of the spec that was observed
}
