package worker

import (
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
)

// Event is something that happened. The set of events is closed.
type Event interface{ apply(*State) }

// Process is one instance of the worker as the driver observed it.
type Process struct {
	ID         string
	Born       int64 // creation in Unix microseconds; orders the instances that are observed together
	Running    bool
	ExitCode   int64
	FinishedAt int64  // Unix milliseconds, if it is not running
	Signal     int64  // signal that ended it; 0 if none or unknown
	Reason     string // what the driver knows about its end, in one word
	Progress   uint64 // grows with each sign of progress; only with a barrier
}

// Observed is a complete list of the instances, in any order. A failed listing does not produce an event.
type Observed struct{ Processes []Process }

// Placed is what the leader has written about the pod. It precedes every level that was read.
type Placed struct{ rounds.Place }

// Updated is an update of the store's Watch.
type Updated struct{ rounds.Observation }

// Answered ends the call in flight.
type Answered struct {
	Reply string
	Now   rounds.Level // right after the call
	Err   error
}

// StopEnded ends a Stop. Without an error the instance should soon be observed as exited.
type StopEnded struct {
	ID   string
	Took time.Duration
	Err  error
}

// Tick means that the time of NextTick has come.
type Tick struct{}

// Leaving means that the pod ends: pending reports are still sent, and nothing else is stopped.
type Leaving struct{}

func (Tick) apply(*State)      {}
func (Leaving) apply(s *State) { s.leaving = true }
