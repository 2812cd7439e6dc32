package supervisor

import (
	"context"
	"syscall"
	"time"

	"github.com/holdfast-project/holdfast/agent/internal/process"
	"github.com/holdfast-project/holdfast/shared/coordination/worker"
)

// instance is one run of the worker, from the barrier to its death. What is below the line is guarded by the
// Supervisor's lock.
type instance struct {
	id    string
	born  int64         // Unix microseconds; orders the instances of one pod
	start chan round    // one slot
	end   chan ending   // taken by its own goroutine
	gone  chan struct{} // closed when nothing of it is left

	// ---
	released  bool                 // from the barrier
	stopping  bool                 // ordered to end
	signal    func(syscall.Signal) // nil while there is no process
	early     []syscall.Signal     // came between the release and the knowledge that the process is there
	dead      bool
	exit      process.Exit
	reason    string    // beyond its exit code, in one word
	kills     uint64    // for want of memory, in the container, before the program was started
	startedAt time.Time // of the program; zero: it was not started
	before    uint64    // signs of progress that were not its own
	progress  uint64    // and that were
}

// round is what an instance belongs to.
type round struct {
	generation, number int64
	at                 time.Time // of the release
}

// ending tells an instance to end.
type ending struct {
	signal     syscall.Signal
	grace      time.Duration
	checkpoint bool // wait for a checkpoint first
	done       chan error
}

func newInstance(id string, born int64) *instance {
	return &instance{
		id: id, born: born,
		start: make(chan round, 1), end: make(chan ending), gone: make(chan struct{}),
	}
}

// seen is what the core observes. An instance that waits at the barrier lives.
func (i *instance) seen() worker.Process {
	w := worker.Process{ID: i.id, Born: i.born, Running: !i.dead, Progress: i.progress}
	if i.dead {
		w.ExitCode, w.Signal, w.FinishedAt = int64(i.exit.Code), int64(i.exit.Signal), i.exit.At.UnixMilli()
		w.Reason = i.reason
	}
	return w
}

// pass forwards a signal to the process. At the barrier there is no process. The caller holds the lock.
func (i *instance) pass(s syscall.Signal) {
	switch {
	case i.signal != nil:
		i.signal(s)
	case i.released && !i.dead:
		i.early = append(i.early, s)
	}
}

// runs notes that the process is there. The lock is held.
func (i *instance) runs(signal func(syscall.Signal)) {
	i.signal = signal
	for _, s := range i.early {
		signal(s)
	}
}

// isGone reports whether nothing of it is left.
func (i *instance) isGone() bool {
	select {
	case <-i.gone:
		return true
	default:
		return false
	}
}

// finish tells an instance to end and waits for that.
func (i *instance) finish(ctx context.Context, e ending) error {
	e.done = make(chan error, 1)
	select {
	case i.end <- e:
	case <-i.gone:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-e.done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}
