package coordination

import "time"

const (
	// NoRound stands for "no round assigned".
	NoRound int64 = -1
	// MaxCount bounds every count that comes from outside: 2^53-1, what the store's numbers hold exactly.
	MaxCount int64 = 1<<53 - 1
	// HistoryLength is how many finished restarts a group remembers.
	HistoryLength = 100
	// MissingLimit bounds what Leader.Missing returns: more than a leader can repair one by one.
	MissingLimit = 10000
)

// Member says who speaks for a slot: the slot's name (the seed's worker ID) and the pod in it.
type Member struct {
	Slot    string
	Pod     string // pod UID
	PodBorn int64  // when the pod's sandbox was created, Unix microseconds; the younger pod holds the slot
	Place
}

// Place is where a worker runs, in the words of people. Nothing is decided by it, and both names may be missing: agents of
// earlier versions do not give them.
type Place struct {
	PodName string
	Node    string
}

// Instance is one life of a worker: a container ID, or a process of the supervisor.
type Instance struct {
	ID   string
	Born int64 // creation, Unix microseconds; orders the instances of one pod
}

// Seen is what the agent's start-up file knows of its slot. It matters only when the store has lost data.
type Seen struct {
	Epoch     int64 // the epoch of Round, or 0
	Round     int64 // the last round the slot was in, or NoRound
	Holds     bool  // the living instance is the one that was given Round
	Running   bool  // that round was seen Running
	Entered   bool  // the slot's step was seen to have entered
	Instances int64 // how many instances the slot had in that round
}

// Unseen is what the agent of a new pod knows.
func Unseen() Seen { return Seen{Round: NoRound} }

// Join reports a living instance.
type Join struct {
	Member
	Instance
	// Barrier: no user code of its round runs before the store has said so (Level.Lifted). The death of such an instance
	// cannot leave its peers in a rendezvous, and a finished one can run again.
	Barrier bool
	Seen    Seen
	// RunsFor is how long the user code of an instance that waited at a barrier has run, in milliseconds by the agent's
	// own monotonic clock; 0 is not said. It is told once, after the barrier was lifted, for the account of the restart.
	RunsFor int64
	// GoneFor is how long the instance before this one has been dead, in milliseconds by the agent's own monotonic clock, if it
	// was stopped on an order and this join reports that as well; 0 is not said. It is for the account of the restart.
	GoneFor int64
}

// Down reports the death of an instance.
type Down struct {
	Member
	Instance
	Barrier    bool // as in Join
	ExitCode   int64
	Ordered    bool  // the agent stopped it, following an order
	FailedAt   int64 // when it exited, Unix milliseconds of the node's clock
	DetectedAt int64 // when the agent knew, same clock
	Seen       Seen
	Exit
}

// Exit is how an instance ended, beyond its code. All of it may be missing: agents of earlier versions do not give it.
type Exit struct {
	Kind   string // KindExit, which it is if it is empty, or KindHang
	Signal int64  // that ended it; 0: none, or unknown
	Reason string // what the driver adds in one word: OOMKilled, or for a hang how long nothing moved, such as 30s
}

// Reply answers an agent.
type Reply struct {
	Level Level // after the call
	Round int64 // of the slot's living instance, NoRound if there is none; while its step forms, the one the group was in
	Step  int64 // the slot's step and the index of its stage: what Level.Entered, Lifted and Left are asked for
	Stage int64
	// Released: nothing will make this slot's worker run (again). Its supervisor may exit 0.
	Released bool
	// Newest is when the slot's instance was born, if the report was not heard because its own instance is older; else 0.
	// An agent that lost its start-up file on a node whose clock went back has no other way to learn it.
	Newest int64
}

// Token is the right to lead: of two, the one of the younger Lease object, then of the later transition, wins.
type Token struct {
	LeaseCreated int64 // Unix seconds
	Transitions  int64
}

// Less orders tokens.
func (t Token) Less(u Token) bool {
	if t.LeaseCreated != u.LeaseCreated {
		return t.LeaseCreated < u.LeaseCreated
	}
	return t.Transitions < u.Transitions
}

// Open is what the leader wants a group to be. Opening is level-based: the same call creates, updates, suspends, resumes
// and moves a group to its next epoch.
type Open struct {
	Token       Token
	Incarnation string // used if the store holds no state
	Epoch       int64
	Limit       int64 // rounds that may open in this epoch: the budget less what was charged before it
	Stages      []Stage
	Suspended   bool
	Recover     bool     // the group existed before: if the store holds no state, collect what the agents know
	Done        []string // slots known to have finished, counted as joined while the group waits for joins
	Reset       bool     // throw unreadable state away first
	// MaxDelay bounds how long workers wait before they start when one round after the other ends early; 0: they never wait. The
	// store keeps milliseconds.
	MaxDelay time.Duration
}

// Cause is why a round was opened or given up.
type Cause struct {
	Slot     string
	Kind     string // one of the Kind constants, or what an agent asked for
	ExitCode int64
	Place          // of the worker, as far as it is known
	Signal   int64 // as in Exit, and so is Reason
	Reason   string
}

// Kinds of causes.
const (
	KindExit     = "exit"     // the worker exited
	KindHang     = "hang"     // it made no progress, and was ended for it
	KindReplaced = "replaced" // a new instance appeared; the death of the old one was not reported
	KindPod      = "pod"      // a new pod took the slot
	KindRecovery = "recovery" // found while recovering from lost data
	KindFinished = "finished" // a finished worker cannot run again
	KindGap      = "gap"      // the seed's guard: more than one round apart
	KindTimeout  = "timeout"  // the round did not end in time
	KindUnkilled = "unkilled" // the worker survived its kill
	KindStops    = "stops"    // more orders to stop than an agent will follow
)

// Failure is a cause with the times its agent gave.
type Failure struct {
	Cause
	FailedAt, DetectedAt int64
}

// Record is the account of one restart, or of the formation of an epoch (Round 0). Times are Unix milliseconds, 0 if
// it did not happen; FailedAt and DetectedAt come from the node's clock, the others from the store's.
type Record struct {
	Epoch, Round int64
	Cause        Cause
	FailedAt     int64 // the worker exited
	DetectedAt   int64 // its agent knew
	ReportedAt   int64 // the store knew, opened the round and published the order, all in one step
	LastDownAt   int64 // the last instance of the old round was reported down
	FirstUpAt    int64 // the first instance of the new round joined
	LastUpAt     int64 // the last one did
	InSyncAt     int64 // Running
	LastStartAt  int64 // the user code of the last one that has said so began to run; without a barrier: when it joined
	Downs, Ups   int64
	Starts       int64 // how many have said so; it comes after InSyncAt, and agents of earlier versions never do
	Coalesced    int64 // further deaths that this restart answered as well
}

// Summary is the whole state of a group but its slots: what the leader decides on.
type Summary struct {
	Level
	Token    Token
	Size     int64 // slots that have to be in sync: of the steps that have entered; before the first one, of all
	Joined   int64 // of those
	Done     int64 // finished slots of all stages
	Limit    int64
	MaxDelay time.Duration // as in Open
	Dirty    bool          // a worker died while the group waits for joins: its peers may hang, so one more round follows
	Stages   []Stage
	Counts   []Count // one for each stage
	Record   Record  // the restart in progress, or the last one
}
