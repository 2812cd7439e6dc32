package coordination

const (
	// MaxCount bounds every count that comes from outside: 2^53-1, what the store's numbers hold exactly.
	MaxCount int64 = 1<<53 - 1
)

// Place is where a worker runs, in the words of people. Nothing is decided by it, and both names may be missing.
type Place struct {
	PodName string
	Node    string
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

// Record is the account of one restart, or of the formation of a generation (Round 0). Times are Unix milliseconds, 0 if
// it did not happen; FailedAt and DetectedAt come from the node's clock, the others from the store's.
type Record struct {
	Generation, Round int64
	Failure
	Ends       bool  // there was no such restart: the failure was the end of restarts in place
	ReportedAt int64 // the store knew, opened the round and published the order, all in one step
	InSyncAt   int64 // all had joined, and were started after the pause of the round
}
