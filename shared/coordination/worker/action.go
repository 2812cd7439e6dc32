package worker

import (
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
)

// Action is something to do. Actions are executed in the given order.
type Action interface{ action() }

// Call calls a function of the store. One Answered follows.
type Call struct{ rounds.Call }

// Read reads the level. A Placed and then an Updated follow.
type Read struct{}

// Prepare asks a driver with a barrier for a new instance that waits. An Observed with that instance follows.
type Prepare struct{}

// Start starts the program of a waiting instance, in this round and as the worker of this slot.
type Start struct {
	ID                string
	Generation, Round int64
	Slot              string
}

// Release means that nothing will run this worker again: the supervisor may exit with code 0.
type Release struct{}

// Stop ends one instance: a signal, then after Grace a kill. It must not block. A StopEnded follows.
type Stop struct {
	ID    string
	Grace time.Duration
	Haste Haste
}

// Haste is how little time a Stop leaves.
type Haste int

// The degrees of haste.
const (
	Patient Haste = iota // the signal, then the grace period; waits for a checkpoint in progress
	Stuck                // silent for long: no signal and no grace period, but waits for a checkpoint in progress
	Hung                 // killed immediately
)

// Remove deletes the records of exited instances, so that a new one is started regardless of their exit codes.
type Remove struct{ IDs []string }

// Save writes the startup file.
type Save struct{ Memory }

// TellRound tells the worker the round of an instance that starts now.
type TellRound struct{ Generation, Round int64 }

// Observe asks for another Observed soon.
type Observe struct{}

// Severity is the severity of a Log.
type Severity int

// The severities.
const (
	Info Severity = iota
	Warning
	Error
)

// Log reports an event. Fields are alternating keys and values.
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
