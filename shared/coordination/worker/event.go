package worker

import (
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
)

// Event is something that happened. The set is closed.
type Event interface{ apply(*State) }

// Process is one instance of the worker as the driver observed it.
type Process struct {
	ID         string
	Born       int64 // creation, Unix microseconds; orders the instances that are observed together
	Running    bool
	ExitCode   int64
	FinishedAt int64  // Unix milliseconds, when not running
	Signal     int64  // that ended it; 0: none, or unknown
	Reason     string // what the driver knows of its end, in one word
	Progress   uint64 // grows with each sign of progress; with a barrier only
}

// Observed is one complete list of the instances, in any order. A list that could not be had is no event.
type Observed struct{ Processes []Process }

// Placed says what the leader has written about the slot. It is due after every level that was read.
type Placed struct{ rounds.Place }

// Updated is what the store's Watch delivered.
type Updated struct{ rounds.Observation }

// Answered ends the call in flight.
type Answered struct {
	Reply string
	Now   rounds.Level // right after the call
	Err   error
}

// StopEnded ends a Stop. Without an error the instance is expected to be observed exited.
type StopEnded struct {
	ID   string
	Took time.Duration
	Err  error
}

// Tick says that the time of NextTick has come.
type Tick struct{}

// Leaving says that the pod ends: what is pending is still reported, and nothing is stopped any more.
type Leaving struct{}

func (Tick) apply(*State)      {}
func (Leaving) apply(s *State) { s.leaving = true }
