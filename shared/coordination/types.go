package coordination

const (
	// MaxCount limits every count from outside: 2^53-1, the largest integer that the store's numbers hold exactly.
	MaxCount int64 = 1<<53 - 1
)

// Place is where a worker runs. It is informational: no decision depends on it, and either name may be missing.
type Place struct {
	PodName string
	Node    string
}

// Token is the right to lead. Of two tokens, the one of the younger Lease object wins; for the same Lease, the one of the later
// transition wins.
type Token struct {
	LeaseCreated int64 // Unix seconds
	Transitions  int64
}

// Less reports whether t loses against u.
func (t Token) Less(u Token) bool {
	if t.LeaseCreated != u.LeaseCreated {
		return t.LeaseCreated < u.LeaseCreated
	}
	return t.Transitions < u.Transitions
}

// Cause is why a round was opened or abandoned.
type Cause struct {
	Slot     string
	Kind     string // one of the Kind constants, or what an agent asked for
	ExitCode int64
	Place           // of the worker, if known
	Signal   int64  // signal that ended the worker; 0 if none or unknown
	Reason   string // further information such as OOMKilled; for a hang, the time without progress
}

// Kinds of causes.
const (
	KindExit     = "exit"     // the worker exited
	KindHang     = "hang"     // it made no progress and was therefore ended
	KindReplaced = "replaced" // a new instance appeared; the death of the old one was not reported
	KindPod      = "pod"      // its pod was lost, and the leader released its slot
	KindRecovery = "recovery" // the store has lost its data
	KindFinished = "finished" // a finished worker cannot run again
	KindGap      = "gap"      // the guard of JobSet KEP-876: more than one round behind
	KindTimeout  = "timeout"  // the round timed out
	KindUnkilled = "unkilled" // the worker survived its kill
	KindStops    = "stops"    // more orders to stop than an agent follows
)

// Failure is a cause with the times that its agent reported.
type Failure struct {
	Cause
	FailedAt, DetectedAt int64
}

// Record describes one restart, or the formation of a generation (Round 0). Times are Unix milliseconds, 0 if it did not happen.
// FailedAt and DetectedAt are times of the node's clock, the others of the store's.
type Record struct {
	Generation, Round int64
	Failure
	Ends       bool  // there was no such restart: the failure ended in-place restarts
	ReportedAt int64 // when the store received the report, opened the round and published the order, all in one step
	InSyncAt   int64 // when all had joined and were started, after the pause of the round
}
