package members

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
	"github.com/holdfast-project/holdfast/shared/coordination/worker"
)

// callTimeout is the same as in the real agent.
const callTimeout = 3 * time.Second

// member is the agent's core with its own goroutine, and a simulated worker program.
type member struct {
	group   *Group
	slot    rounds.Slot
	barrier bool
	store   rounds.Members
	state   *worker.State
	events  chan worker.Event
	lives   int64
	now     worker.Process // the running instance, or the last one if it has died
	due     []worker.Event
	kills   chan int64 // exit codes of requested deaths
	beside  sync.WaitGroup

	mu       sync.Mutex
	times    Times
	reads    time.Time // when it last read the level
	switches int       // between a relay and the store
}

func (g *Group) newMember(index int, store rounds.Members, barrier bool) *member {
	slot := slotOf(index)
	config := worker.Config{
		Slot: slot, Barrier: barrier, Random: rand.Float64,
		MaxStops: math.MaxInt, // the benchmark restarts the group many times in a row
	}
	return &member{
		group: g, times: Times{round: -1}, slot: slot, barrier: barrier, store: store, state: worker.New(config, worker.Fresh()),
		events: make(chan worker.Event, 16), kills: make(chan int64, 1),
	}
}

func slotOf(index int) rounds.Slot {
	return rounds.Slot{Name: fmt.Sprintf("%s-0-%d", prefix, index), Pod: fmt.Sprintf("0d9fa3a5-6c7a-4a3c-9f0e-%012d", index)}
}

// run is the agent's loop. One goroutine uses the core; calls run in other goroutines.
func (m *member) run(ctx context.Context) {
	defer m.beside.Wait()
	m.beside.Go(func() {
		m.store.Watch(ctx, m.group.id, m.slot, func(o rounds.Observation) { m.post(ctx, worker.Updated{Observation: o}) })
	})
	timer := time.NewTimer(0)
	defer timer.Stop()
	if m.barrier {
		m.due = append(m.due, worker.Observed{})
	} else {
		m.start()
	}
	for {
		select {
		case <-ctx.Done():
			return
		case e := <-m.events:
			m.step(ctx, e)
		case code := <-m.kills:
			m.end(code)
			m.step(ctx, worker.Tick{})
		case <-timer.C:
			m.step(ctx, worker.Tick{})
		}
		if next, ok := m.state.NextTick(); ok {
			timer.Reset(max(0, time.Until(next)))
		}
	}
}

// read reads the level, and retries until the store responds.
func (m *member) read(ctx context.Context) {
	for ctx.Err() == nil {
		if o := m.store.Observe(ctx, m.group.id, m.slot); o.Read {
			m.post(ctx, worker.Updated{Observation: o})
			return
		}
		time.Sleep(readRetry)
	}
}

const readRetry = time.Second

func (m *member) post(ctx context.Context, e worker.Event) {
	select {
	case m.events <- e:
	case <-ctx.Done():
	}
}

// step passes an event to the core, followed by the events that the core's actions cause immediately.
func (m *member) step(ctx context.Context, e worker.Event) {
	for m.due = append(m.due, e); len(m.due) > 0; {
		e, m.due = m.due[0], m.due[1:]
		m.note(e)
		for _, a := range m.state.Step(time.Now(), e) {
			m.perform(ctx, a)
		}
	}
}

func (m *member) perform(ctx context.Context, a worker.Action) {
	switch a := a.(type) {
	case worker.Call:
		m.call(ctx, a.Call)
	case worker.Read:
		m.beside.Go(func() { m.read(ctx) })
	case worker.Stop:
		m.noteOrder()
		m.end(exitTerminated)
		m.due = append(m.due, worker.StopEnded{ID: a.ID})
	case worker.Prepare:
		m.start()
	}
}

func (m *member) call(ctx context.Context, c rounds.Call) {
	m.beside.Go(func() {
		calling, cancel := context.WithTimeout(ctx, callTimeout)
		defer cancel()
		reply, now, err := m.store.Call(calling, m.group.id, c)
		m.post(ctx, worker.Answered{Reply: reply, Now: now, Err: err})
	})
}

const exitTerminated = 143

// start simulates a new instance of the program.
func (m *member) start() {
	m.lives++
	m.now = worker.Process{ID: fmt.Sprintf("%s/%d", m.slot.Name, m.lives), Born: m.lives, Running: true}
	m.look()
}

// end simulates the exit of the instance. Without a barrier the next instance starts immediately. With a barrier, the
// core starts it later.
func (m *member) end(code int64) {
	m.now.Running, m.now.ExitCode, m.now.FinishedAt = false, code, time.Now().UnixMilli()
	m.look()
	if !m.barrier {
		m.start()
	}
}

func (m *member) look() {
	m.due = append(m.due, worker.Observed{Processes: []worker.Process{m.now}})
}
