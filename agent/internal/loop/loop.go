// Package loop runs the group protocol for one worker. It passes events to the core, and performs the actions that the
// core decides on. It controls the worker through a driver.
package loop

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfast-project/holdfast/agent/internal/config"
	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
	"github.com/holdfast-project/holdfast/shared/coordination/worker"
)

const (
	// callTimeout limits a call to the store.
	callTimeout = 3 * time.Second
	// leaveTimeout is how long the agent keeps sending reports while it is shutting down.
	leaveTimeout = time.Second
	// far is the time until the next tick when nothing is due.
	far = 24 * time.Hour
)

// loop holds the state of the only goroutine that uses the core. That goroutine only waits for events: anything that
// takes time runs in other goroutines.
type loop struct {
	Parts
	config Config
	state  *worker.State

	events  chan worker.Event
	due     chan struct{} // buffer of one: an observation is due
	failure chan error    // the runtime is no longer reachable
	timer   *time.Timer
	unsaved map[string][]byte // content of files that could not be written to the volume, by name

	released bool // the group no longer needs this worker

	work       context.Context // for the other goroutines
	goroutines sync.WaitGroup
	removing   atomic.Bool
}

// Run runs the group protocol for the worker until the worker is released or ctx is done, and then returns nil. It
// returns an error if the worker is no longer reachable. The worker keeps running in either case. w configures the
// core, except for the worker's identity, and m is its memory.
func Run(ctx context.Context, c Config, p Parts, w worker.Config, m worker.Memory) error {
	w.Slot, w.Generation, w.PodName, w.Node, w.Random = c.slot(), c.PodEpoch, c.Place.PodName, c.Place.Node, rand.Float64
	l := &loop{
		Parts: p, config: c, state: worker.New(w, m),
		events: make(chan worker.Event, 64), due: make(chan struct{}, 1), failure: make(chan error, 1), timer: time.NewTimer(far),
		unsaved: map[string][]byte{},
	}
	work, cancel := context.WithCancel(context.WithoutCancel(ctx))
	l.work = work
	defer l.goroutines.Wait()
	defer cancel()
	stopObserving := l.startObserving()
	defer stopObserving()
	leaving := l.config.Leaving
	l.goroutines.Go(func() { l.Store.Watch(work, l.config.JobSetUID, l.config.slot(), l.updated) })
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
	for name, content := range l.unsaved {
		l.save(name, content)
	}
	wait := far
	if next, ok := l.state.NextTick(); ok {
		wait = time.Until(next)
	}
	if len(l.unsaved) > 0 {
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

// leave sends pending reports before the agent exits. It first observes the worker one last time, because the worker
// may just have died.
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

// Config identifies the agent's worker and configures the loop.
type Config struct {
	config.Identity
	StartupDir      string // where the agent saves its state; empty: the state is lost when the program exits
	PollingInterval time.Duration
	Leaving         <-chan struct{} // closed when the pod is terminating, before the worker is stopped
	Patience        time.Duration   // how long the worker may be unreachable before Run gives up
	Contact         *Contact        // with the store; optional
}

func (c *Config) slot() rounds.Slot { return rounds.Slot{Name: c.WorkerID, Pod: c.PodUID} }

// Contact records when the store last replied, possibly with an error.
type Contact struct{ last atomic.Int64 } // Unix nanoseconds

func (c *Contact) note(err error) {
	if c != nil && coordination.IsReply(err) {
		c.last.Store(time.Now().UnixNano())
	}
}

// Age returns the time since the last reply.
func (c *Contact) Age() time.Duration { return time.Since(time.Unix(0, c.last.Load())) }

// Driver controls the worker's instances.
type Driver interface {
	// Observe returns all instances, including dead ones. It is never called concurrently.
	Observe(context.Context) (worker.Observed, error)
	// Stop stops one instance and returns when it has exited.
	Stop(ctx context.Context, s worker.Stop) error
	// Remove deletes the records of exited instances.
	Remove(ctx context.Context, ids []string) error
}

// Watcher signals when the worker may have changed.
type Watcher interface {
	// Watch calls wake, which does not block, until ctx is done.
	Watch(ctx context.Context, wake func())
}

// Barrier is implemented by drivers whose instances wait for the group. None of its methods block.
type Barrier interface {
	// Prepare makes the next instance wait at the barrier.
	Prepare()
	// Start runs one instance in the given round as the worker in the given slot.
	Start(id string, generation, round int64, slot string)
}

// Parts holds a loop's dependencies.
type Parts struct {
	Driver  Driver
	Watcher Watcher
	Barrier Barrier // nil for a driver without one
	// Report is called after each observation of the worker. problem says why the observation failed, or is empty.
	Report func(problem string)
	Store  rounds.Members
	Log    *slog.Logger
}
