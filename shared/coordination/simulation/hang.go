package simulation

import (
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination/worker"
)

// stepEvery is how often a worker that gets on gives a sign of it.
const stepEvery = 500 * time.Millisecond

// observed is what the driver of a pod says of an instance. Signs of progress are counted when somebody looks.
func (p *pod) observed(c *instance) worker.Process {
	w := worker.Process{ID: c.id, Born: c.born, Running: c.running}
	if !c.running {
		w.ExitCode, w.FinishedAt = c.code, c.wallOut
	}
	if p.driver() != Exec || !c.lifted {
		return w
	}
	last := p.now
	if c.hangs {
		last = c.hungAt
	}
	w.Progress = uint64((last - c.started) / stepEvery)
	return w
}

// hang makes the living worker of a pod stop getting on. It does not hear of signals any more.
func (p *pod) hang() {
	if c := p.living(); c != nil && c.lifted && !c.hangs {
		c.hangs, c.hungAt = true, p.now
		p.note(p.uid, "worker %s hangs", c.id)
	}
}

// killHung is what a supervisor does with an instance that makes no progress: the kill is a failure, not an order, and only
// one that really hangs may get it (S2).
func (a *agent) killHung(s worker.Stop) {
	p := a.pod
	c := p.find(s.ID)
	a.say("kills %s, which hangs", s.ID)
	if c == nil || !c.running {
		a.later(time.Millisecond, func() { a.take(worker.StopEnded{ID: s.ID}) })
		return
	}
	if !c.hangs {
		a.truth.fail("S2", "%s is killed as if it hung", s.ID)
	}
	if p.now < p.immune {
		p.at(p.immune, func() { p.exit(c, 137) })
		a.later(10*time.Second, func() { a.take(worker.StopEnded{ID: s.ID, Err: errRuntime}) })
		return
	}
	p.in(5*time.Millisecond, func() { p.exit(c, 137) })
	a.later(6*time.Millisecond, func() { a.take(worker.StopEnded{ID: s.ID}) })
}

// hangs: workers stop getting on, alone or beside other faults.
func hangs() Shape {
	s := shape("hangs", workers(Exec, 1, 3), append(everything(), chances(20, WorkerHangs)...), 5)
	s.Progress = worker.Progress{Timeout: 8 * time.Second, Start: 20 * time.Second} // without a start, one that hangs at once is never found
	s.Start = 3 * time.Second
	return s
}

// stuck: workers hang, and nothing stands in the way of their restart in place (L2).
func stuck() Shape {
	s := hangs()
	s.Name, s.Faults = "stuck", append(spares(Exec), chances(20, WorkerHangs)...)
	s.Timeout, s.InPlace = 10*time.Minute, true
	return s
}
