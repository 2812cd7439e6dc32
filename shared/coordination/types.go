package coordination

import (
	"cmp"
	"strings"
)

// MaxCount limits every count received from outside: 2^53-1, the largest integer that the store's numbers represent exactly.
const MaxCount int64 = 1<<53 - 1

// Place is where a worker runs. It is informational: no decision depends on it, and either name may be empty.
type Place struct {
	PodName string
	Node    string
}

// Token proves the right to lead. Of two tokens, the one from the newer Lease object wins; for the same Lease, the one from the
// later transition wins.
type Token struct {
	LeaseCreated int64 // Unix seconds
	Transitions  int64
}

// Less reports whether u wins over t.
func (t Token) Less(u Token) bool {
	return cmp.Or(cmp.Compare(t.LeaseCreated, u.LeaseCreated), cmp.Compare(t.Transitions, u.Transitions)) < 0
}

// Cause describes why a round was opened or abandoned.
type Cause struct {
	Slot     string
	Kind     string // one of the Kind constants, or the kind that an agent requested
	ExitCode int64
	Place           // where the worker ran, if known
	Signal   int64  // signal that ended the worker; 0 if none or unknown
	Reason   string // further details, such as OOMKilled; for a hang, how long there was no progress
}

// Values of Cause.Kind.
const (
	KindExit     = "exit"     // the worker exited
	KindHang     = "hang"     // it made no progress and was killed
	KindReplaced = "replaced" // a new instance joined, although the death of the old one was not reported
	KindPod      = "pod"      // its pod was lost, and the leader released its slot
	KindRecovery = "recovery" // the store has lost its data
	KindFinished = "finished" // a finished worker cannot run again
	KindGap      = "gap"      // the worker was more than one round behind, which JobSet KEP-876 does not allow
	KindTimeout  = "timeout"  // the round timed out
	KindUnkilled = "unkilled" // the worker survived its kill
	KindStops    = "stops"    // the number of stop orders exceeded the agent's limit
)

// Failure is a cause with the times that the worker's agent reported.
type Failure struct {
	Cause
	FailedAt, DetectedAt int64
}

// Record describes one restart, or the formation of a generation (Round 0). Times are Unix milliseconds, or 0 if the event did
// not happen. FailedAt and DetectedAt are from the node's clock, the others from the store's.
type Record struct {
	Generation, Round int64
	Failure
	Ends       bool  // the failure ended in-place restarts, so this restart did not take place
	ReportedAt int64 // when the store received the report, opened the round and published the order, which it does in one step
	InSyncAt   int64 // when all workers had joined and were started, after the round's pause
}

// Phase is a group's phase, as named in conditions and metrics.
type Phase string

const (
	Forming    Phase = "Forming"    // no step has entered yet, and the group is waiting for all slots of the first step to join
	Running    Phase = "Running"    // all slots of the entered steps are in sync
	Restarting Phase = "Restarting" // slots of the entered steps must join the desired round
	Terminal   Phase = "Terminal"   // a worker failed and no restarts are left; no worker is stopped
	Recreating Phase = "Recreating" // the group cannot recover in place; the leader recreates the Jobs
	Closed     Phase = "Closed"     // suspended
	Completed  Phase = "Completed"  // all required workers have finished; no worker restarts
)

// Phases lists all phases.
var Phases = []Phase{Forming, Running, Restarting, Terminal, Recreating, Closed, Completed}

// userPrefix is the name prefix of the store users that the leader creates. The leader does not change any other users.
const userPrefix = "holdfast:"

// UserOf returns the name of the store user for a group's members. The group is named after the UID of its owner.
func UserOf(group string) string { return userPrefix + group }

// GroupOfUser is the inverse of UserOf. ok is false if the user does not belong to a group.
func GroupOfUser(name string) (group string, ok bool) { return strings.CutPrefix(name, userPrefix) }
