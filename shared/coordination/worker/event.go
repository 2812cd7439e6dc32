package worker

import (
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
)

// Event is an input to the core. The set of events is closed.
type Event interface{ apply(*State) }

// Process is an instance of the worker as observed by the driver.
type Process struct {
	ID         string
	Born       int64 // creation time in Unix microseconds; orders instances that are observed together
	Running    bool
	ExitCode   int64
	FinishedAt int64  // Unix milliseconds; set if it is not running
	Signal     int64  // signal that ended it; 0 if none or unknown
	Reason     string // why it ended, in one word, as far as the driver knows
	Progress   uint64 // increases with each sign of progress; only with a barrier
}

// Observed is a complete list of the instances, in any order. If listing them fails, there is no event.
type Observed struct{ Processes []Process }

// Updated is an update from Members.Watch, or the result of a Read.
type Updated struct{ rounds.Observation }

// Answered is the result of the call in flight.
type Answered struct {
	Reply string
	Now   rounds.Level // the level right after the call
	Err   error
}

// StopEnded is the result of a Stop. If there is no error, the instance should soon be observed as exited.
type StopEnded struct {
	ID   string
	Took time.Duration
	Err  error
}

// Tick means that the time returned by NextTick has been reached.
type Tick struct{}

// Leaving means that the pod is ending: pending reports are still sent, but instances are no longer stopped or started.
type Leaving struct{}

func (Tick) apply(*State)      {}
func (Leaving) apply(s *State) { s.leaving = true }
