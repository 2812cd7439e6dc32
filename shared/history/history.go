// Package history is the account of a workload's last restarts as its annotation holds it: one line for each, the newest
// last, for people who read `kubectl describe` and for programs alike. It is pure.
//
//	# restart  failed at (UTC)  kind  cause  worker/pod@node  lost=detect+order+down+start in ms
//	1.3 2026-11-22T01:23:45.120Z in-place exit:137:SIGKILL workers-0-12/x7k2p@node-a 81=1+2+0+78
//	1.4 2026-11-22T01:40:10.004Z in-place hang:137:SIGKILL:30s workers-0-3/bb2q9@node-b 30091=30004+7+0+80
//	2.0 2026-11-22T01:52:00.731Z recreation timeout - 9120=0+0+1100+8020 uncounted
package history

import "time"

// Annotation is the key, with the text of a list of entries as its value.
const Annotation = "holdfast.dev/restart-history"

// Kinds of restarts.
const (
	InPlace    = "in-place"
	Recreation = "recreation"
)

// Phase is a part of a restart. The parts follow each other without a gap from the failure to the moment at which all
// workers run again, so that they add up to the outage.
type Phase int

// The phases, in their order.
const (
	Detect Phase = iota // from the failure to the moment at which somebody knew of it
	Order               // to the order to restart
	Down                // to the end of the last old worker; of restarts in place that is a part of start
	Start               // until all workers run again
	phases
)

// Phases lists them all.
var Phases = [phases]Phase{Detect, Order, Down, Start}

var phaseNames = [phases]string{"detect", "order", "down", "start"}

func (p Phase) String() string { return phaseNames[p] }

// Attempt numbers the restarts of a workload: the epoch, and the restart in place within it. Recreations open an epoch.
type Attempt struct{ Epoch, Round int64 }

// After tells whether a comes later than b.
func (a Attempt) After(b Attempt) bool {
	return a.Epoch > b.Epoch || (a.Epoch == b.Epoch && a.Round > b.Round)
}

// Cause is what made a restart necessary.
type Cause struct {
	Kind     string // such as exit, hang, pod or timeout
	ExitCode int64
	Signal   string // such as SIGKILL; empty: none, or unknown
	Reason   string // such as OOMKilled, or for a hang the time without progress
}

// Entry is one restart.
type Entry struct {
	Attempt
	FailedAt time.Time // to the millisecond; see Of in the program that writes it for what it is taken from
	Kind     string
	Cause    Cause
	Worker   string // replicatedJob, job index and pod index of the worker that caused it, joined by dashes; empty: none did
	Pod      string // name of its pod, as far as it is not the worker's with the workload's name before it
	Node     string
	Took     [phases]time.Duration // to the millisecond
	Ended    End
	Counted  bool // against the budget
}

// End is how a restart ended.
type End string

// Ends.
const (
	Running   End = ""          // all workers run
	Overtaken End = "overtaken" // another failure came before that; the next entry goes on where this one ends
	GivenUp   End = "given-up"  // it was out of time, or could not end: a recreation follows
)

// Lost is the outage: the sum of the phases.
func (e Entry) Lost() time.Duration {
	var sum time.Duration
	for _, d := range e.Took {
		sum += d
	}
	return sum
}
