package loop

import (
	"context"
	"log/slog"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
	"github.com/holdfast-project/holdfast/shared/coordination/worker"
)

// Config says which worker the agent represents.
type Config struct {
	Group           string // UID of the JobSet
	Slot            string
	Pod             string // UID of the pod
	StartupDir      string // where the agent keeps its memory; empty: its memory ends with the program
	PollingInterval time.Duration
	Leaving         <-chan struct{} // closed when the pod ends, before the worker is stopped
	Patience        time.Duration   // how long the worker may be unreachable before Run gives up
}

// Driver reaches the instances of the worker.
type Driver interface {
	// Observe returns all instances, including dead ones. It is never called concurrently.
	Observe(context.Context) (worker.Observed, error)
	// Stop ends one instance and returns when it has exited.
	Stop(ctx context.Context, s worker.Stop) error
	// Remove deletes the records of exited instances.
	Remove(ctx context.Context, ids []string) error
}

// Watcher signals when the worker may have changed, and explains errors of Observe.
type Watcher interface {
	// Watch calls wake, which does not block, until ctx is done.
	Watch(ctx context.Context, wake func())
	// Explain says what an operator can do about an error of Observe.
	Explain(error) string
}

// Barrier is implemented by a driver whose instances wait for the group. None of its methods blocks.
type Barrier interface {
	// Prepare puts the next instance at the barrier.
	Prepare()
	// Start lets one instance run in a round, as the worker of a slot.
	Start(id string, generation, round int64, slot string)
}

// Gate learns whether the worker can be reached.
type Gate interface {
	Wait(reason string)
	Open()
}

// Parts holds what an agent works with.
type Parts struct {
	Driver  Driver
	Watcher Watcher
	Barrier Barrier // nil for a driver without one
	Gate    Gate
	Store   rounds.Members
	Log     *slog.Logger
}
