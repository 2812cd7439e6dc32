package simulation

import (
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination/worker"
)

// stepEvery is how often a worker reports progress.
const stepEvery = 500 * time.Millisecond

// observed returns what the pod's driver reports about an instance. Signs of progress are computed when the instance is observed.
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

// hang makes the running worker of a pod stop making progress. It also stops reacting to signals.
func (p *pod) hang() {
	if c := p.living(); c != nil && c.lifted && !c.hangs {
		c.hangs, c.hungAt = true, p.now
		p.note(p.uid, "worker %s hangs", c.id)
	}
}

// killHung simulates how a supervisor kills an instance that makes no progress. The kill is a failure and not an order, and only
// an instance that really hangs may be killed (S2).
func (a *agent) killHung(s worker.Stop) {
	p := a.pod
	c := p.find(s.ID)
	a.say("kills %s, which hangs", s.ID)
	if c == nil || !c.running {
		a.later(time.Millisecond, func() { a.take(worker.StopEnded{ID: s.ID}) })
		return
	}
	if !c.hangs {
		a.truth.fail("S2", "%s is killed as hung but makes progress", s.ID)
	}
	if p.now < p.immune {
		p.at(p.immune, func() { p.exit(c, 137) })
		a.later(10*time.Second, func() { a.take(worker.StopEnded{ID: s.ID, Err: errRuntime}) })
		return
	}
	p.in(5*time.Millisecond, func() { p.exit(c, 137) })
	a.later(6*time.Millisecond, func() { a.take(worker.StopEnded{ID: s.ID}) })
}

// hangs returns a shape with workers that hang, alone or in combination with other faults.
func hangs() Shape {
	s := shape("hangs", workers(Exec, 1, 3), append(everything(), chances(20, WorkerHangs)...), 5)
	s.Progress = worker.Progress{Timeout: 8 * time.Second, Start: 20 * time.Second} // without Start, a worker that hangs immediately would never be detected
	s.Start = 3 * time.Second
	return s
}

// stuck returns a shape with workers that hang, and no faults that prevent in-place restarts (L2).
func stuck() Shape {
	s := hangs()
	s.Name, s.Faults = "stuck", append(harmless(Exec), chances(20, WorkerHangs)...)
	s.Timeout, s.InPlace = 10*time.Minute, true
	return s
}
