package member

import (
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination"
)

// Event is something that happened. The set is closed: Observed, Told, Answered, StopEnded, Tick, Leaving.
type Event interface{ apply(*State) }

// Worker is one instance as the driver saw it.
type Worker struct {
	coordination.Instance
	Running    bool
	ExitCode   int64
	FinishedAt int64  // Unix milliseconds, when not running
	Signal     int64  // that ended it; 0: none, or the driver does not know
	Reason     string // what the driver knows of its end, in one word

	// At a barrier:
	StartedAt int64  // when its user code began to run, Unix milliseconds; 0: not yet
	Progress  uint64 // grows with each sign of progress that was seen
}

// Observed is one whole look at the instances of the worker, in any order. A look that failed is no event.
type Observed struct {
	PodBorn int64 // Unix microseconds
	Workers []Worker
}

// Told is what the store's Watch saw.
type Told struct{ coordination.Observation }

// Answered ends the call in flight.
type Answered struct {
	Reply coordination.Reply
	Err   error
}

// StopEnded ends a Stop. Without an error the instance is expected to be seen exited.
type StopEnded struct {
	ID   string
	Took time.Duration
	Err  error
}

// Tick says that the time of NextTick has come.
type Tick struct{}

// Leaving says that the agent is asked to end: what is pending is still reported, nothing is stopped any more.
type Leaving struct{}

func (Tick) apply(*State)      {}
func (Leaving) apply(s *State) { s.leaving = true }
