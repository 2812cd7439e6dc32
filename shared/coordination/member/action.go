package member

import (
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination"
)

// Action is something to do, in the order given. Join, Down and Ask are calls: each is answered by one Answered.
type Action interface{ action() }

// Begin asks the driver of a barrier for a new instance that waits. It is answered by an Observed with that instance.
type Begin struct{}

// Lift says that the barrier is open for this instance: run its user code now, in this round.
type Lift struct {
	coordination.Instance
	Epoch, Round int64
}

// Release says that nothing will ask for this worker any more: whoever holds it may exit 0.
type Release struct{}

// Join reports a living instance.
type Join struct{ coordination.Join }

// Down reports a death.
type Down struct{ coordination.Down }

// Ask requests the recreation of the group.
type Ask struct {
	coordination.Member
	Kind string
}

// Stop ends one instance: a signal, then after Grace a kill. It must not hold up the loop; StopEnded answers it.
type Stop struct {
	coordination.Instance
	Grace time.Duration
	Haste Haste
}

// Haste is how little time a Stop leaves.
type Haste int

// Hastes.
const (
	Patient Haste = iota // the signal, and the grace; a save that has begun is waited for
	Stuck                // it has been silent for long: no signal, no grace, but a save that has begun is waited for
	Hung                 // it hangs: killed at once
)

// Remove deletes the records of exited instances, so that a new one is started whatever their exit code was.
type Remove struct{ IDs []string }

// Save writes the start-up file.
type Save struct{ Memory }

// WriteRound tells the worker which round an instance that starts now belongs to.
type WriteRound struct{ Epoch, Round int64 }

// Look asks for another look at the workers soon.
type Look struct{}

// Severity of a Log.
type Severity int

// Severities.
const (
	Info Severity = iota
	Warning
	Error
)

// Log tells the operator one thing that happened. Fields are keys and values in turn.
type Log struct {
	Severity
	Message string
	Fields  []any
}

func (Begin) action()      {}
func (Lift) action()       {}
func (Release) action()    {}
func (Join) action()       {}
func (Down) action()       {}
func (Ask) action()        {}
func (Stop) action()       {}
func (Remove) action()     {}
func (Save) action()       {}
func (WriteRound) action() {}
func (Look) action()       {}
func (Log) action()        {}
