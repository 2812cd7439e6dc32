package agent

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
	"github.com/holdfast-project/holdfast/shared/coordination/worker"
)

const (
	// callTimeout is the same as in the real agent.
	callTimeout = 3 * time.Second
	// lookAgain is the polling interval of the sidecar.
	lookAgain = time.Second
	// hostsRetry is the same as in the real supervisor.
	hostsRetry = 200 * time.Millisecond
	// farewell is how long an agent keeps reporting after its pod has begun to end.
	farewell = time.Second
	// far is the time until the next tick when nothing is due.
	far = 24 * time.Hour
	// manyStops is the maximum number of restart orders per minute. It is high, because the benchmarks restart a group
	// many times in a row.
	manyStops = 1000
)

// agent is one member of a group: the core with its own goroutine, and a simulated container. Only that goroutine uses
// the fields below the line.
type agent struct {
	all     *Agents
	worker  Worker
	pod     types.NamespacedName
	barrier bool
	line    *line
	todo    chan func()
	stop    context.CancelFunc
	beside  sync.WaitGroup
	// readAgain cancels the Watch. The next one starts with a read.
	readAgain atomic.Pointer[context.CancelFunc]

	// ---
	state     *worker.State
	instances []worker.Process // what an observation shows: earlier instances that still have a record, and the newest one
	lives     int64
	due       []worker.Event
	released  bool
	slot      rounds.Slot
	leaving   time.Time // when a leaving agent ends; zero: it stays
}

func (c *Agents) newAgent(w Worker, pod *corev1.Pod, generation int64, line *line) *agent {
	a := &agent{
		all: c, worker: w, pod: types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}, barrier: w.Driver == Exec,
		line: line, todo: make(chan func(), 64),
	}
	a.slot = rounds.Slot{Name: w.Slot, Pod: string(pod.UID)}
	a.state = worker.New(worker.Config{
		Slot: a.slot, Generation: generation, Barrier: a.barrier, RemoveStopped: true,
		MaxStops: manyStops, Random: rand.Float64, PodName: pod.Name, Node: pod.Spec.NodeName, Waits: w.waits,
	}, worker.Fresh())
	return a
}

// run is the agent's loop. One goroutine uses the core; slow operations run in other goroutines.
func (a *agent) run(ctx context.Context) {
	defer a.beside.Wait()
	a.beside.Go(func() { a.watch(ctx) })
	timer := time.NewTimer(far)
	defer timer.Stop()
	if a.barrier {
		a.look()
	} else {
		a.live(true)
	}
	a.settle(ctx)
	for !a.over() {
		timer.Reset(a.wait())
		select {
		case <-ctx.Done():
			return
		case do := <-a.todo:
			do()
		case <-timer.C:
			a.due = append(a.due, worker.Tick{})
		}
		a.settle(ctx)
	}
	a.stop()
}

// watch follows the level. To read it, an agent starts a new Watch.
func (a *agent) watch(ctx context.Context) {
	for ctx.Err() == nil {
		watching, end := context.WithCancel(ctx)
		a.readAgain.Store(&end)
		a.line.Watch(watching, a.worker.Group, a.slot, func(o rounds.Observation) { a.post(ctx, worker.Updated{Observation: o}) })
		end()
	}
}

func (a *agent) over() bool {
	return a.released || !a.leaving.IsZero() && (a.state.Settled() || time.Now().After(a.leaving))
}

func (a *agent) wait() time.Duration {
	wait := far
	if next, ok := a.state.NextTick(); ok {
		wait = max(0, time.Until(next))
	}
	if !a.leaving.IsZero() {
		wait = min(wait, max(0, time.Until(a.leaving)))
	}
	return wait
}

// later runs do in the agent's goroutine after a delay, unless the agent has ended by then.
func (a *agent) later(ctx context.Context, after time.Duration, do func()) {
	time.AfterFunc(after, func() { a.hand(ctx, do) })
}

func (a *agent) hand(ctx context.Context, do func()) {
	select {
	case a.todo <- do:
	case <-ctx.Done():
	}
}

func (a *agent) post(ctx context.Context, e worker.Event) {
	a.hand(ctx, func() { a.due = append(a.due, e) })
}

// settle passes the due events to the core, followed by the events that the core's actions cause immediately.
func (a *agent) settle(ctx context.Context) {
	for len(a.due) > 0 {
		e := a.due[0]
		a.due = a.due[1:]
		for _, action := range a.state.Step(time.Now(), e) {
			a.perform(ctx, action)
		}
	}
}

func (a *agent) perform(ctx context.Context, action worker.Action) {
	switch action := action.(type) {
	case worker.Call:
		a.call(ctx, action.Call)
	case worker.Read:
		(*a.readAgain.Load())()
	case worker.Stop:
		a.all.ordered(a.worker)
		a.kill(ctx, action.ID)
	case worker.Remove:
		a.later(ctx, a.all.timing.Removed.Draw(), func() { a.remove(action.IDs) })
	case worker.Prepare:
		a.live(false)
	case worker.Start:
		a.begin(ctx, action)
	case worker.Observe:
		a.later(ctx, lookAgain, a.look)
	case worker.Release:
		a.released = true
	}
}

func (a *agent) call(ctx context.Context, c rounds.Call) {
	a.beside.Go(func() {
		calling, cancel := context.WithTimeout(ctx, callTimeout)
		defer cancel()
		reply, now, err := a.line.Call(calling, a.worker.Group, c)
		a.post(ctx, worker.Answered{Reply: reply, Now: now, Err: err})
	})
}

// look observes all instances.
func (a *agent) look() {
	a.due = append(a.due, worker.Observed{Processes: slices.Clone(a.instances)})
}

// live creates a new instance: a running container, or an instance that waits at the barrier.
func (a *agent) live(runs bool) {
	a.lives++
	a.instances = append(a.instances, worker.Process{
		ID: fmt.Sprintf("%s/%d", a.pod.Name, a.lives), Born: time.Now().UnixMicro(), Running: true,
	})
	if runs {
		a.all.began(a.worker)
	}
	a.look()
}

// begin starts the program of an instance that has waited at the barrier, as the worker of a slot. If slots can be assigned to spares, the
// program needs the first worker's host name, so the supervisor looks it up first.
func (a *agent) begin(ctx context.Context, start worker.Start) {
	exec := func() {
		a.later(ctx, a.all.timing.Execs.Draw(), func() {
			if p := a.living(); p != nil && p.ID == start.ID {
				a.all.works(a.slot.Pod, start.Slot)
				a.all.began(a.worker.in(start.Slot))
			}
		})
	}
	if !a.worker.anySlot {
		exec()
		return
	}
	a.beside.Go(func() {
		for ctx.Err() == nil {
			asking, cancel := context.WithTimeout(ctx, callTimeout)
			_, err := a.line.Hosts(asking, a.worker.Group, []string{a.worker.first})
			cancel()
			if err == nil {
				exec()
				return
			}
			time.Sleep(hostsRetry)
		}
	})
}

// living returns the running instance, or nil.
func (a *agent) living() *worker.Process {
	if n := len(a.instances); n > 0 && a.instances[n-1].Running {
		return &a.instances[n-1]
	}
	return nil
}

// Exit codes.
const (
	exitKilled     = 137
	exitTerminated = 143
)

// kill carries out a restart order.
func (a *agent) kill(ctx context.Context, id string) {
	a.later(ctx, a.all.timing.Dies.Draw(), func() {
		a.die(ctx, id, exitKilled, time.Now(), func() { a.due = append(a.due, worker.StopEnded{ID: id}) })
	})
}

// die ends an instance's process. Its supervisor reaps it, or the runtime notifies the kubelet and the sidecar.
func (a *agent) die(ctx context.Context, id string, code int64, at time.Time, then func()) {
	known := func() {
		for n := range a.instances {
			if w := &a.instances[n]; w.ID == id && w.Running {
				w.Running, w.ExitCode, w.FinishedAt = false, code, at.UnixMilli()
				a.all.died(a.worker)
			}
		}
		a.look()
		then()
		a.forget()
	}
	if a.barrier {
		a.later(ctx, a.all.timing.Reaped.Draw(), known)
		return
	}
	a.later(ctx, a.all.timing.Told.Draw(), func() {
		_ = a.all.kubelet.Exit(a.pod, a.worker.container, int32(code)) // fails only if the pod has already ended
		known()
	})
}

// forget drops dead instances that have been observed. A supervisor knows only its own children, and the kubelet keeps
// only one record.
func (a *agent) forget() {
	keep := 2
	if a.barrier {
		keep = 1
	}
	if n := len(a.instances); n > keep {
		a.instances = a.instances[n-keep:]
	}
}

func (a *agent) remove(ids []string) {
	gone := map[string]bool{}
	for _, id := range ids {
		gone[id] = true
	}
	var left []worker.Process
	for _, w := range a.instances {
		if w.Running || !gone[w.ID] {
			left = append(left, w)
		}
	}
	a.instances = left
	_ = a.all.kubelet.RemoveRecord(a.pod, a.worker.container)
	a.look()
}

// leave makes the agent end together with its pod, whose worker has exited.
func (a *agent) leave() {
	a.leaving = time.Now().Add(farewell)
	a.due = append(a.due, worker.Leaving{})
	if w := a.living(); w != nil {
		w.Running, w.ExitCode, w.FinishedAt = false, exitTerminated, time.Now().UnixMilli()
	}
	a.look()
}
