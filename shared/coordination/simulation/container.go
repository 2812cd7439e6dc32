package simulation

import (
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination/worker"
)

// stop simulates the runtime's StopContainer.
func (a *agent) stop(s worker.Stop) {
	p := a.pod
	a.say("stops %s", s.ID)
	c := p.find(s.ID)
	p.truth.ordered(a, s.ID, c)
	ended := func(took time.Duration, err error) {
		a.later(took, func() { a.take(worker.StopEnded{ID: s.ID, Took: took, Err: err}) })
	}
	if p.refuses > 0 {
		p.refuses--
		p.truth.refused(c)
		ended(100*time.Millisecond, errRuntime)
		return
	}
	if c == nil || !c.running {
		ended(time.Millisecond, nil)
		return
	}
	took, code := p.random.between(5*time.Millisecond, 200*time.Millisecond)+p.slow, int64(143)
	if !c.lifted {
		took = time.Millisecond // no process is running yet
	}
	if c.hangs {
		took = s.Grace + 1 // the worker receives no signal
	} else if p.polite && c.lifted {
		code = 0
	}
	if took > s.Grace {
		took, code = s.Grace, 137
	}
	if p.now+took < p.immune {
		p.truth.refused(c)
		ended(s.Grace+10*time.Second, errRuntime)
		p.at(p.immune, func() { p.exit(c, 137) })
		return
	}
	p.in(took, func() { p.exit(c, code) })
	ended(took+time.Millisecond, nil)
}

func (p *pod) find(id string) *instance {
	for _, c := range p.containers {
		if c.id == id {
			return c
		}
	}
	return nil
}

// remove deletes records of exited containers. Only one removal runs at a time.
func (a *agent) remove(ids []string) {
	if a.removing {
		return
	}
	a.removing = true
	a.later(a.pod.random.between(5*time.Millisecond, 50*time.Millisecond), func() {
		a.removing = false
		a.say("removes %v", ids)
		a.pod.forget(ids)
		a.later(200*time.Millisecond, a.look)
	})
}

// forget drops records from the runtime.
func (p *pod) forget(ids []string) {
	kept := p.containers[:0:0]
	for _, c := range p.containers {
		gone := false
		for _, id := range ids {
			gone = gone || (c.id == id && !c.running)
		}
		if !gone {
			kept = append(kept, c)
		}
	}
	p.containers = kept
	p.removed()
}
