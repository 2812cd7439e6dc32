// Package loop represents a worker in its group. It passes events to the core and performs the actions that the core
// decides on, with the driver that reaches the worker.
package loop

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
	"github.com/holdfast-project/holdfast/shared/coordination/worker"
)

const (
	// callTimeout limits a call of the store.
	callTimeout = 3 * time.Second
	// leaveTimeout is how long a leaving agent keeps reporting.
	leaveTimeout = time.Second
	// far is the time until the next tick when nothing is due.
	far = 24 * time.Hour
)

// loop is the only goroutine that uses the core. It waits for nothing but events: whatever takes time runs in other
// goroutines.
type loop struct {
	Parts
	config Config
	state  *worker.State

	events       chan worker.Event
	due          chan struct{} // buffer of one: an observation is due
	failure      chan error    // the runtime cannot be reached any more
	updates      sync.Mutex    // held while events that belong together are posted
	heard        int           // number of updates so far; guarded by updates
	timer        *time.Timer
	unsaved      *worker.Memory    // not yet written to the volume
	unsavedRound *worker.TellRound // likewise

	released bool // no action needs this worker any more

	work       context.Context // context of the other goroutines
	goroutines sync.WaitGroup
	removing   atomic.Bool
	refused    refusal // accessed only by the goroutine that has set removing
}

// Run represents the worker until the worker is released or ctx is done, and then returns nil. It returns an error if it can no
// longer reach its worker. The worker is left alone in either case.
func Run(ctx context.Context, c Config, p Parts, s *worker.State) error {
	l := &loop{
		Parts: p, config: c, state: s,
		events: make(chan worker.Event, 64), due: make(chan struct{}, 1), failure: make(chan error, 1), timer: time.NewTimer(far),
	}
	return l.run(ctx)
}

func (l *loop) run(ctx context.Context) error {
	work, cancel := context.WithCancel(context.WithoutCancel(ctx))
	l.work = work
	defer l.goroutines.Wait()
	defer cancel()
	stopObserving := l.startObserving()
	defer stopObserving()
	leaving := l.config.Leaving
	l.goroutines.Go(func() { l.Store.Watch(work, l.config.Group, l.updated) })
	for !l.released {
		select {
		case e := <-l.events:
			l.step(e)
		case <-l.timer.C:
			l.step(worker.Tick{})
		case <-leaving:
			l.step(worker.Leaving{})
			leaving = nil
		case err := <-l.failure:
			return err
		case <-ctx.Done():
			stopObserving()
			l.leave()
			return nil
		}
	}
	return nil
}

// step passes an event to the core and performs the resulting actions.
func (l *loop) step(e worker.Event) {
	now := time.Now()
	for _, a := range l.state.Step(now, e) {
		l.perform(a)
	}
	l.saveAgain()
	wait := far
	if next, ok := l.state.NextTick(); ok {
		wait = time.Until(next)
	}
	if l.unsaved != nil || l.unsavedRound != nil {
		wait = min(wait, saveRetry)
	}
	l.timer.Reset(max(0, wait))
}

// post passes an event to the loop from another goroutine.
func (l *loop) post(e worker.Event) {
	select {
	case l.events <- e:
	case <-l.work.Done():
	}
}

// leave reports what is pending before the agent ends. It observes the worker once more, because the worker may just
// have died.
func (l *loop) leave() {
	l.Log.Info("stopping, sending pending reports")
	ctx, cancel := context.WithTimeout(l.work, leaveTimeout)
	defer cancel()
	l.step(worker.Leaving{})
	if o, err := l.Driver.Observe(ctx); err == nil {
		l.step(o)
	}
	for !l.state.Settled() {
		select {
		case e := <-l.events:
			l.step(e)
		case <-l.timer.C:
			l.step(worker.Tick{})
		case <-ctx.Done():
			l.Log.Warn("stopped with unsent reports")
			return
		}
	}
}

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
