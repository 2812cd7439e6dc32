package policy

import (
	"time"

	"github.com/holdfast-project/holdfast/rescheduler/api/memory"
)

// Act is what is done.
type Act int

const (
	Leave   Act = iota // nothing, and reconcile when something changes
	Wait               // nothing yet
	Record             // remember the node; the pod stays, or its controller has replaced it
	Evict              // remember the node, and then have the pod evicted
	Exhaust            // avoid no node any more: the workload has used up its moves
	Remake             // remember the node on the pod's successor, and make that
)

// Reasons of decisions, as events, annotations and metrics have them.
const (
	Moved            = "Rescheduled"
	Excluded         = "NodeExcluded"
	Exhausted        = "ReschedulingExhausted"
	WorkloadFault    = "WorkloadFault"
	NotMovable       = "NotMovable"
	NoOtherNode      = "NoOtherNode"
	Recovering       = "RecoveringBelow"
	TooEarly         = "NotLongEnough"
	GangMovedAlready = "GangMovedAlready"
	NeverMoved       = "NotTheNodesFault"
	LimitReached     = "ReschedulingLimited"
	WouldMove        = "WouldReschedule"
	TooLongAgo       = "TooLongAgo"
)

// Decision is what to do about one pod and why.
type Decision struct {
	Act    Act
	Reason string
	// Message is for people: what happened, why, and what comes next.
	Message string
	// Warning: the user has to do something.
	Warning bool
	// After is when to reconcile again if nothing changes. 0 means never.
	After time.Duration
	// Memory is that of the workload afterwards. It is to be written if Learned.
	Memory  memory.Memory
	Learned bool
	// Charged: it costs one move.
	Charged bool
	// Blame is the weight against the node.
	Blame int
}

// Moves reports whether the decision needs a budget.
func (d Decision) Moves() bool { return d.Act == Evict || d.Act == Remake }
