package policy

import (
	"time"

	"github.com/holdfast-project/holdfast/rescheduler/api/memory"
)

// Act is the action of a decision.
type Act int

const (
	Leave   Act = iota // do nothing until something changes
	Wait               // decide again later
	Record             // record the node; the pod stays, or its controller has replaced it
	Evict              // record the node, then evict the pod
	Exhaust            // lift all exclusions, because the workload has used up its moves
	Remake             // create the pod's successor with the node recorded on it
)

// Reasons of decisions, in events, annotations and metrics.
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
	// Message says what happened, why, and what comes next.
	Message string
	// Warning means that the user must act.
	Warning bool
	// After is when to reconcile again if nothing changes. 0 means never.
	After time.Duration
	// Memory is the memory of the workload after the decision. It must be written if Learned.
	Memory  memory.Memory
	Learned bool
	// Charged means that the decision costs one move.
	Charged bool
	// Blame is the weight of the complaint about the node.
	Blame int
}

// Moves reports whether the decision needs a budget.
func (d Decision) Moves() bool { return d.Act == Evict || d.Act == Remake }
