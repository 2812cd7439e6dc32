package fleet

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/member"
)

// callTimeout is the agent's.
const callTimeout = 3 * time.Second

// worker is one member: the agent's core, its own goroutine, and a worker program that is only pretended.
type worker struct {
	fleet   *Fleet
	index   int
	slot    string
	barrier bool
	store   coordination.Agent
	state   *member.State
	events  chan member.Event
	lives   int64
	now     member.Worker // the instance that lives, or died last
	due     []member.Event
	kills   chan int64 // exit codes of deaths that are wanted
	beside  sync.WaitGroup

	mu    sync.Mutex
	times times
}

func (f *Fleet) newWorker(index int, store coordination.Agent, barrier bool) *worker {
	slot := fmt.Sprintf("%s-0-%d", prefix, index)
	config := member.Config{
		Slot: slot, Pod: fmt.Sprintf("0d9fa3a5-6c7a-4a3c-9f0e-%012d", index), Barrier: barrier, Random: rand.Float64,
	}
	return &worker{
		fleet: f, index: index, times: times{round: -1}, slot: slot, barrier: barrier, store: store, state: member.New(config, member.Fresh()),
		events: make(chan member.Event, 16), kills: make(chan int64, 1),
	}
}

// run is the agent's loop: one goroutine owns the core, calls run beside it.
func (w *worker) run(ctx context.Context) {
	defer w.beside.Wait()
	w.beside.Go(func() {
		w.store.Watch(ctx, w.fleet.group, func(o coordination.Observation) { w.post(ctx, member.Told{Observation: o}) })
	})
	timer := time.NewTimer(0)
	defer timer.Stop()
	if w.barrier {
		w.due = append(w.due, member.Observed{PodBorn: 1})
	} else {
		w.start()
	}
	for {
		select {
		case <-ctx.Done():
			return
		case e := <-w.events:
			w.step(ctx, e)
		case code := <-w.kills:
			w.end(code)
			w.step(ctx, member.Tick{})
		case <-timer.C:
			w.step(ctx, member.Tick{})
		}
		if next, ok := w.state.NextTick(); ok {
			timer.Reset(max(0, next.Sub(w.fleet.clock())))
		}
	}
}

func (w *worker) post(ctx context.Context, e member.Event) {
	select {
	case w.events <- e:
	case <-ctx.Done():
	}
}

// step feeds the core with an event and with those that its actions cause at once.
func (w *worker) step(ctx context.Context, e member.Event) {
	for w.due = append(w.due, e); len(w.due) > 0; {
		e, w.due = w.due[0], w.due[1:]
		w.note(e)
		for _, a := range w.state.Step(w.fleet.clock(), e) {
			w.perform(ctx, a)
		}
	}
}

func (w *worker) perform(ctx context.Context, a member.Action) {
	group := w.fleet.group
	switch a := a.(type) {
	case member.Join:
		w.call(ctx, func(ctx context.Context) (coordination.Reply, error) { return w.store.Join(ctx, group, a.Join) })
	case member.Down:
		w.call(ctx, func(ctx context.Context) (coordination.Reply, error) { return w.store.Down(ctx, group, a.Down) })
	case member.Stop:
		w.noteOrder()
		w.end(exitTerminated)
		w.due = append(w.due, member.StopEnded{ID: a.ID})
	case member.Begin:
		w.start()
	case member.Lift:
		w.now.StartedAt = w.fleet.clock().UnixMilli()
		w.look()
	}
}

func (w *worker) call(ctx context.Context, do func(context.Context) (coordination.Reply, error)) {
	w.beside.Go(func() {
		ctx, cancel := context.WithTimeout(ctx, callTimeout)
		defer cancel()
		reply, err := do(ctx)
		w.post(ctx, member.Answered{Reply: reply, Err: err})
	})
}

const exitTerminated = 143

// start pretends a new instance of the program.
func (w *worker) start() {
	w.lives++
	w.now = member.Worker{Instance: coordination.Instance{ID: fmt.Sprintf("%s/%d", w.slot, w.lives), Born: w.lives}, Running: true}
	w.look()
}

// end pretends that the instance exited, and that the next one runs at once. At a barrier that is asked for.
func (w *worker) end(code int64) {
	w.now.Running, w.now.ExitCode, w.now.FinishedAt = false, code, time.Now().UnixMilli()
	w.look()
	if !w.barrier {
		w.start()
	}
}

func (w *worker) look() {
	w.due = append(w.due, member.Observed{PodBorn: 1, Workers: []member.Worker{w.now}})
}
