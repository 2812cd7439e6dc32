package policy

import (
	"time"

	"github.com/holdfast-project/holdfast/rescheduler/api/memory"
	"github.com/holdfast-project/holdfast/rescheduler/internal/settings"
	"github.com/holdfast-project/holdfast/rescheduler/internal/signals"
)

// Act is the action of a decision.
type Act int

const (
	Leave   Act = iota // do nothing until something changes
	Wait               // decide again later
	Record             // record the node; the pod is not moved, or its controller has replaced it
	Evict              // record the node, then evict the pod
	Exhaust            // lift all exclusions, because the workload has used up its moves
	Remake             // create the pod's successor with the node recorded on it
)

// Reasons of decisions, used in events, annotations and metrics.
const (
	Moved             = "Rescheduled"
	Excluded          = "NodeExcluded"
	Exhausted         = "ReschedulingExhausted"
	WorkloadFault     = "WorkloadFault"
	NotMovable        = "NotMovable"
	NoOtherNode       = "NoOtherNode"
	Recovering        = "RecoveringBelow"
	TooEarly          = "NotLongEnough"
	GroupMovedAlready = "GroupMovedAlready"
	NeverMoved        = "NotTheNodesFault"
	LimitReached      = "ReschedulingLimited"
	WouldMove         = "WouldReschedule"
	TooLongAgo        = "TooLongAgo"
)

// Decision is what to do about one pod and why.
type Decision struct {
	Act    Act
	Reason string
	// Message says what happened, why, and what happens next.
	Message string
	// Warning means that the user must act.
	Warning bool
	// After is the delay until the next reconcile if nothing changes. 0 means never.
	After time.Duration
	// Memory is the failure history of the workload after the decision. It must be written if Learned is set.
	Memory  memory.Memory
	Learned bool
	// Blame is the weight of the complaint about the node.
	Blame int
}

// Moves reports whether the decision needs a budget.
func (d Decision) Moves() bool { return d.Act == Evict || d.Act == Remake }

// Reasons lists the reasons of published decisions, by the row's action. TooEarly and TooLongAgo are not published.
var Reasons = map[signals.Action][]string{
	signals.Never:  {NotMovable, NeverMoved},
	signals.Record: {NotMovable, NoOtherNode, Exhausted, WorkloadFault, Excluded, WouldMove},
	signals.Move: {
		NotMovable, NoOtherNode, Exhausted, WorkloadFault, Excluded, WouldMove, Recovering, GroupMovedAlready, Moved, LimitReached,
	},
}

// Facts is the input of a decision about one pod.
type Facts struct {
	Now      time.Time
	Pod      Pod
	Workload Workload
	Node     Node
	// Match is the signal that the pod matches, with Since set.
	Match signals.Match
	// Siblings summarizes the other pods with the same template.
	Siblings Siblings
	Config   *settings.Rescheduling
}

// Pod is the abnormal pod.
type Pod struct {
	UID     string
	Created time.Time
	// Failed means that the pod has ended and its controller replaces it, so it does not have to be evicted.
	Failed bool
	// Bare means that no controller replaces the pod.
	Bare bool
	// Slot is the identity of the pod within the workload, or "" if it has none.
	Slot string
	// Protected is the reason why the pod is never moved, for example because it is a mirror pod, a pod of a DaemonSet, or a critical pod.
	// It is empty for all other pods.
	Protected string
	// Pinned is what ties the pod to its node, such as spec.nodeName set by its owner, a node selector, or a local volume. It is empty if
	// nothing does.
	Pinned string
	// Placed means that Kueue has chosen the node by topology. With an exclusion, the pod could not be scheduled.
	Placed bool
	// Group is the group of pods that start and fail together, or "" if there is none.
	Group string
	// Whole means that the group may only be disrupted as a whole.
	Whole bool
}

// Workload is the owner in which the failure history is stored.
type Workload struct {
	Name    string
	Retries int
	Memory  memory.Memory
	// GroupMoved is when a pod of the group was last moved.
	GroupMoved time.Time
	// Recovering is the deadline of a recovery by another recovery level, or zero if there is none.
	Recovering time.Time
	// Recovered is when the recovery that the pod was waiting for was observed to have ended, or zero if it has not ended.
	Recovered time.Time
}

// Node is the pod's node.
type Node struct {
	Name, UID string
	// Others means that the pod could run on another node that is not excluded.
	Others bool
	// MemoryPressure means that the kubelet reports the node as short of memory.
	MemoryPressure bool
	// Tainted means that this program has tainted the node.
	Tainted bool
}
