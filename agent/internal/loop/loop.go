// Package loop speaks for a worker in its group: it feeds the core with what happens, and does what the core decides, with
// whatever driver reaches the worker.
package loop

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination/worker"
)

const (
	// callTimeout bounds a call of the store.
	callTimeout = 3 * time.Second
	// farewell is how long a leaving agent reports.
	farewell = time.Second
	// far is when nothing is due.
	far = 24 * time.Hour
)

// loop is the one goroutine that owns the core. It never waits for anything but events: what takes time runs beside it.
type loop struct {
	Parts
	config Config
	state  *worker.State

	events  chan worker.Event
	due     chan struct{} // one slot: an observation is due
	failure chan error    // the runtime is lost for good
	updates sync.Mutex    // held while what belongs together is handed on
	heard   int           // updates so far, guarded by it
	timer   *time.Timer
	unsaved *worker.Memory    // not on the volume yet
	untold  *worker.TellRound // neither

	released bool // nothing will ask for this worker any more

	work     context.Context // what runs beside the loop
	beside   sync.WaitGroup
	removing atomic.Bool
	refused  refusal // of who has set removing
}

// Run speaks for the worker until it is released or ctx ends, which are no errors, or until it cannot reach its worker any more.
// The worker is left alone in any case.
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
	defer l.beside.Wait()
	defer cancel()
	stopObserving := l.startObserving()
	defer stopObserving()
	leaving := l.config.Leaving
	l.beside.Go(func() { l.Store.Watch(work, l.config.Group, l.updated) })
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

// step lets the core decide and does it.
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
	if l.unsaved != nil || l.untold != nil {
		wait = min(wait, saveRetry)
	}
	l.timer.Reset(max(0, wait))
}

// post hands an event to the loop, from beside it.
func (l *loop) post(e worker.Event) {
	select {
	case l.events <- e:
	case <-l.work.Done():
	}
}

// leave reports what is pending before the agent ends. The worker may have died just now, so it is observed once more.
func (l *loop) leave() {
	l.Log.Info("leaving: what is pending is reported")
	ctx, cancel := context.WithTimeout(l.work, farewell)
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
			l.Log.Warn("left before everything was reported")
			return
		}
	}
}
