package supervisor

import (
	"context"
	"syscall"
	"time"

	"github.com/holdfast-project/holdfast/agent/internal/process"
	"github.com/holdfast-project/holdfast/shared/coordination/worker"
)

// instance is one run of the worker, from the barrier to its death. The Supervisor's lock guards the fields below the
// line.
type instance struct {
	id    string
	born  int64         // Unix microseconds; orders the instances of one pod
	start chan round    // buffer of one
	end   chan ending   // received by the instance's own goroutine
	gone  chan struct{} // closed when nothing of it is left

	// ---
	released  bool                 // from the barrier
	stopping  bool                 // ordered to end
	signal    func(syscall.Signal) // nil while there is no process
	early     []syscall.Signal     // arrived after the release, before the process was known
	dead      bool
	exit      process.Exit
	reason    string    // one word that adds to the exit code
	kills     uint64    // out-of-memory kills in the container before the program started
	startedAt time.Time // of the program; zero: it was not started
	before    uint64    // progress count before this instance
	progress  uint64    // progress reports of this instance
}

// round identifies a round and a slot in which an instance runs.
type round struct {
	generation, number int64
	slot               string
	at                 time.Time // time of the release
}

// ending tells an instance how to end.
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

// seen returns what the core observes. An instance that waits at the barrier is alive.
func (i *instance) seen() worker.Process {
	w := worker.Process{ID: i.id, Born: i.born, Running: !i.dead, Progress: i.progress}
	if i.dead {
		w.ExitCode, w.Signal, w.FinishedAt = int64(i.exit.Code), int64(i.exit.Signal), i.exit.At.UnixMilli()
		w.Reason = i.reason
	}
	return w
}

// pass forwards a signal to the process. At the barrier there is no process to receive it. The caller holds the lock.
func (i *instance) pass(s syscall.Signal) {
	switch {
	case i.signal != nil:
		i.signal(s)
	case i.released && !i.dead:
		i.early = append(i.early, s)
	}
}

// runs records that the process exists, and sends the signals that came early. The caller holds the lock.
func (i *instance) runs(signal func(syscall.Signal)) {
	i.signal = signal
	for _, s := range i.early {
		signal(s)
	}
}

// isGone reports whether nothing of the instance is left.
func (i *instance) isGone() bool {
	select {
	case <-i.gone:
		return true
	default:
		return false
	}
}

// finish tells an instance to end and waits until it has.
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
