package group

import (
	"errors"
	"fmt"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
	"github.com/holdfast-project/holdfast/shared/coordination/worker"
)

var errUnreachable = errors.New("unreachable")

// pod is one worker's pod: the shipped core of the agent, and a driver that is played.
type pod struct {
	*history
	rounds.Slot
	unit       int
	generation int64
	state      *worker.State
	file       worker.Memory

	connected bool
	inbox     []string
	call      *rounds.Call // not answered yet
	reading   bool
	tickAt    time.Time

	processes    []*process // by birth
	starts       int
	lost, zombie bool
	releases     bool // the supervisor was let go
	held         bool // the last join was refused because another pod holds the slot
}

// process is one instance of a worker.
type process struct {
	worker.Process
	ran   bool
	round int64 // in which its program runs
	began time.Time
	died  time.Time
}

func (p *pod) String() string { return p.Name + "/" + p.Pod }

// boot starts the agent with what its file holds.
func (p *pod) boot() {
	p.state = worker.New(worker.Config{
		Slot: p.Slot, Generation: p.generation, Grace: 5 * time.Second, Barrier: !p.cri, MaxStops: 1000, Random: p.Float64, RemoveStopped: true,
	}, p.file)
	p.connected, p.inbox, p.call, p.reading, p.tickAt = false, nil, nil, false, time.Time{}
	if p.cri && len(p.processes) == 0 {
		p.spawn()
	}
	p.observe()
}

// spawn makes an instance; without a barrier its program runs from the start.
func (p *pod) spawn() {
	p.starts++
	c := &process{Process: worker.Process{ID: fmt.Sprintf("%s.%d", p.Pod, p.starts), Born: p.now.UnixMicro() + int64(p.starts), Running: true}, round: worker.NoRound}
	c.ran = p.cri
	p.processes = append(p.processes, c)
}

func (p *pod) living() *process {
	if n := len(p.processes); n > 0 && p.processes[n-1].Running {
		return p.processes[n-1]
	}
	return nil
}

func (p *pod) observe() {
	var o worker.Observed
	for _, c := range p.processes {
		o.Processes = append(o.Processes, c.Process)
	}
	p.take(o)
}

// end of the living process. The kubelet, or the core with a barrier, makes another one unless it has finished.
func (p *pod) end(code int64) {
	c := p.living()
	if c == nil {
		return
	}
	c.Running, c.ExitCode, c.FinishedAt, c.died = false, code, p.now.UnixMilli(), p.now
	if p.cri && code != 0 {
		p.spawn()
	}
	p.observe()
}

// take hands an event to the core and carries out what it decides.
func (p *pod) take(e worker.Event) {
	for _, action := range p.state.Step(p.now, e) {
		p.perform(action)
	}
	if at, ok := p.state.NextTick(); ok {
		p.tickAt = at
	} else {
		p.tickAt = time.Time{}
	}
}

func (p *pod) perform(action worker.Action) {
	switch a := action.(type) {
	case worker.Call:
		p.call = &a.Call
	case worker.Read:
		p.reading = true
	case worker.Prepare:
		p.later(func() { p.spawn(); p.observe() })
	case worker.Start:
		if c := p.living(); c != nil && c.ID == a.ID {
			c.ran, c.round = true, a.Round
			p.starting(p, c)
		}
	case worker.Stop:
		p.later(func() {
			if c := p.living(); c != nil && c.ID == a.ID {
				p.end(143)
			}
			p.take(worker.StopEnded{ID: a.ID})
		})
	case worker.Release:
		p.releases = true
	case worker.Save:
		p.file = a.Memory
	case worker.Observe:
		p.later(p.observe)
	case worker.Remove:
		p.later(func() { p.removeRecords(a.IDs) })
	}
}

func (p *pod) removeRecords(ids []string) {
	kept := p.processes[:0]
	for _, c := range p.processes {
		gone := false
		for _, id := range ids {
			gone = gone || (id == c.ID && !c.Running)
		}
		if !gone {
			kept = append(kept, c)
		}
	}
	p.processes = kept
	p.observe()
}

// later runs at one of the pod's next steps, unless its agent restarts before.
func (p *pod) later(f func()) {
	state := p.state
	p.pending = append(p.pending, func() {
		if p.state == state && !p.gone() {
			f()
		}
	})
}

func (p *pod) gone() bool { return p.lost || p.releases }

// step is one thing that happens to the pod.
func (p *pod) step() {
	switch {
	case p.gone():
	case !p.connected:
		p.connected, p.inbox = true, nil
		p.read()
	case p.reading:
		p.reading = false
		p.read()
	case len(p.inbox) > 0 && p.IntN(3) > 0:
		l, err := rounds.ParseLevel(p.inbox[0])
		p.inbox = p.inbox[1:]
		p.take(worker.Updated{Observation: rounds.Observation{Level: l, Err: err}})
	case p.IntN(40) == 0: // the periodic read
		p.read()
	case p.call != nil:
		p.answer()
	case !p.tickAt.IsZero() && !p.now.Before(p.tickAt):
		p.take(worker.Tick{})
	}
}

// read is what the agent does on a connection, on demand and at intervals.
func (p *pod) read() {
	stored := p.observed()
	if stored == nil {
		p.take(worker.Updated{Observation: rounds.Observation{Read: true, Err: coordination.ErrNoGroup}})
		return
	}
	for _, b := range stored.Config.Stages {
		if b.Has(p.Name) {
			p.take(worker.Placed{Place: rounds.Place{Bounds: b, Limit: stored.Config.Limit}})
			p.take(worker.Updated{Observation: rounds.Observation{Level: stored.State.Level, Read: true}})
			return
		}
	}
	p.take(worker.Updated{Observation: rounds.Observation{Read: true, Err: coordination.ErrUnknownSlot}})
}

// answer makes the call, of which the answer may be lost.
func (p *pod) answer() {
	c := *p.call
	p.call = nil
	if p.IntN(50) == 0 {
		p.disconnect()
		p.take(worker.Answered{Err: errUnreachable})
		return
	}
	reply, now, err := p.fcall(c)
	if c.Function == rounds.FunctionJoin {
		p.held = reply == string(rounds.AnswerHeld)
		if process := p.living(); p.cri && reply == string(rounds.AnswerJoined) && process != nil && process.ID == c.Arguments[6] {
			process.round = c.Arguments[2].(int64)
			p.starting(p, process)
		}
	}
	if p.IntN(25) == 0 {
		p.disconnect()
		err = errUnreachable
	}
	p.take(worker.Answered{Reply: reply, Now: now, Err: err})
}

func (p *pod) disconnect() {
	p.connected, p.inbox = false, nil
	p.take(worker.Updated{Observation: rounds.Observation{Err: errUnreachable}})
}
