package worker

import (
	"log/slog"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
)

// Action is something that the agent must do. Actions are executed in order.
type Action interface{ action() }

// Call calls a function in the store. It is followed by one Answered.
type Call struct{ rounds.Call }

// Read reads the group's state. It is followed by an Updated.
type Read struct{}

// Prepare asks a driver with a barrier for a new instance that waits to be started. It is followed by an Observed with that
// instance.
type Prepare struct{}

// Start starts a waiting instance's program as the worker in the given slot and round.
type Start struct {
	ID                string
	Generation, Round int64
	Slot              string
}

// Release means that this worker will not run again, so the supervisor may exit with code 0.
type Release struct{}

// Stop ends an instance with a signal and, after Grace, a kill. It must not block. It is followed by a StopEnded.
type Stop struct {
	ID    string
	Grace time.Duration
	Haste Haste
}

// Haste is how quickly a Stop ends the instance.
type Haste int

const (
	Patient Haste = iota // the signal, then the grace period; waits for a checkpoint in progress
	Stuck                // for an instance that has been silent for a long time: no signal and no grace period, but waits for a checkpoint in progress
	Hung                 // killed immediately
)

// Remove deletes the records of exited instances, so that a new one is started regardless of their exit codes.
type Remove struct{ IDs []string }

// Save writes the memory to the startup file.
type Save struct{ Memory }

// TellRound tells the worker which round an instance belongs to if it starts now.
type TellRound struct{ Generation, Round int64 }

// Observe requests another Observed soon.
type Observe struct{}

// Log reports an event. Fields are alternating keys and values.
type Log struct {
	Level   slog.Level
	Message string
	Fields  []any
}

const info, warning, failure = slog.LevelInfo, slog.LevelWarn, slog.LevelError

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
