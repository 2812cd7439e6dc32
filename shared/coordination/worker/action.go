package worker

import (
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
)

// Action is something to do, in the order given.
type Action interface{ action() }

// Call is a call of the store. It is answered by one Answered.
type Call struct{ rounds.Call }

// Read asks for a level that is read. It is answered by an Updated, after the Placed that belongs to it.
type Read struct{}

// Prepare asks a driver with a barrier for a new instance that waits. It is answered by an Observed with that instance.
type Prepare struct{}

// Start lets the program of a waiting instance run, in this round.
type Start struct {
	ID                string
	Generation, Round int64
}

// Release says that nothing will run this worker again: the supervisor may exit 0.
type Release struct{}

// Stop ends one instance: a signal, then after Grace a kill. It must not block; StopEnded answers it.
type Stop struct {
	ID    string
	Grace time.Duration
	Haste Haste
}

// Haste is how little time a Stop leaves.
type Haste int

// Hastes.
const (
	Patient Haste = iota // the signal, and the grace; a checkpoint in progress is waited for
	Stuck                // silent for long: no signal, no grace, but a checkpoint in progress is waited for
	Hung                 // killed at once
)

// Remove deletes the records of exited instances, so that a new one is started whatever their exit code was.
type Remove struct{ IDs []string }

// Save writes the start-up file.
type Save struct{ Memory }

// TellRound tells the worker which round an instance that starts now belongs to.
type TellRound struct{ Generation, Round int64 }

// Observe asks for another Observed soon.
type Observe struct{}

// Severity of a Log.
type Severity int

// Severities.
const (
	Info Severity = iota
	Warning
	Error
)

// Log reports one thing that happened. Fields are keys and values in turn.
type Log struct {
	Severity
	Message string
	Fields  []any
}

func (Call) action()      {}
func (Read) action()      {}
func (Prepare) action()   {}
func (Start) action()     {}
func (Release) action()   {}
func (Stop) action()      {}
func (Remove) action()    {}
func (Save) action()      {}
func (TellRound) action() {}
func (Observe) action()   {}
func (Log) action()       {}
