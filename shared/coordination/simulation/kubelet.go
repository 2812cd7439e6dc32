package simulation

import (
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination/worker"
)

// sync simulates what the kubelet does after listing the containers of a pod (reference 2.1).
//
//	no record of the worker        start one: the record was removed, which the kubelet does not count as a failure
//	exited 0, policy OnFailure     the pod has Succeeded
//	exited otherwise               start again, the first time immediately, then in CrashLoopBackOff
func (p *pod) sync() {
	if p.over || p.terminating || p.ended() || p.waiting || p.living() != nil {
		return
	}
	c := p.newest()
	switch {
	case c == nil:
		p.startSoon(0)
	case c.code == 0:
		p.succeed()
	default:
		p.backOff(c)
	}
}

// startSoon creates and starts a container.
func (p *pod) startSoon(wait time.Duration) {
	p.waiting = true
	births := p.births
	p.in(wait+p.random.between(100*time.Millisecond, 600*time.Millisecond), func() {
		if p.births == births { // no container has been started since
			p.startWorker()
		}
	})
}

func (p *pod) backOff(c *instance) {
	wait := p.loop.wait(c.exited)
	if wait == 0 {
		p.loop.grant(p.now, 0)
		p.startSoon(0)
		return
	}
	p.waiting = true
	left := max(0, c.exited+wait-p.now)
	p.note(p.uid, "waits in CrashLoopBackOff, %s", wait)
	p.in(p.random.between(left, left+left/2), func() {
		if p.waiting && p.newest() == c {
			p.loop.grant(p.now, wait)
			p.startSoon(0)
		}
	})
}

// removed simulates what follows when the agent removes records: the kubelet lists the containers again and does not see a
// failure.
func (p *pod) removed() {
	if p.over || p.living() != nil {
		return
	}
	p.in(p.node.nextRelist(), func() {
		if p.newest() == nil {
			p.waiting = false
			p.sync()
		}
	})
}

// succeed ends the pod: its sidecar is asked to stop, and sends its pending reports.
func (p *pod) succeed() {
	p.phase = podSucceeded
	p.note(p.uid, "has succeeded")
	p.agent.leave()
	p.in(p.random.between(50*time.Millisecond, 1500*time.Millisecond), func() {
		p.end()
		p.reported(func() { p.podEnded(p) })
	})
}

// fail ends the pod without notifying its containers, like an eviction by a node that runs out of disk space.
func (p *pod) fail() {
	if p.over || p.ended() {
		return
	}
	p.note(p.uid, "is evicted by its node")
	p.phase = podFailed
	p.stopAll()
	p.reported(func() { p.podEnded(p) })
}

// reported delivers a report from the kubelet to the API server. A disconnected node reports later.
func (p *pod) reported(do func()) {
	if p.node.lost {
		return
	}
	if p.node.cut {
		p.in(time.Second, func() { p.reported(do) })
		return
	}
	p.in(p.random.between(5*time.Millisecond, 100*time.Millisecond), do)
}

// terminate simulates what follows when the pod is deleted: the worker gets a signal and is then killed. The agent ends last.
func (p *pod) terminate() {
	if p.over || p.terminating || p.node.cut {
		return
	}
	p.terminating = true
	if p.driver() == Exec {
		p.agent.take(worker.Leaving{}) // the supervisor gets the signal and forwards it
	}
	took := p.random.between(5*time.Millisecond, 300*time.Millisecond)
	if c := p.living(); c != nil {
		code := int64(143)
		if p.polite {
			code = 0
		}
		wait := took + p.slow
		if wait > p.shape.Grace {
			wait, code = p.shape.Grace, 137
		}
		p.killed = true
		p.in(max(wait, p.immune-p.now), func() { p.exit(c, code); p.leave() })
		return
	}
	p.in(took, p.leave)
}

// leave ends a pod that is being deleted.
func (p *pod) leave() {
	p.agent.leave()
	p.in(p.random.between(50*time.Millisecond, 1100*time.Millisecond), func() {
		p.end()
		p.reported(func() { p.podGone(p) })
	})
}

// stopAll kills the containers.
func (p *pod) stopAll() {
	p.immune = 0
	if c := p.living(); c != nil {
		p.exit(c, 137)
	}
	p.end()
}

// vanish ends a pod together with its node.
func (p *pod) vanish() {
	if !p.over {
		p.stopAll()
	}
}

// end stops the agent and the worker, so that nothing remains on the node.
func (p *pod) end() {
	if p.over {
		return
	}
	p.over, p.terminating = true, true
	p.agent.quit()
	if c := p.living(); c != nil {
		p.immune = 0
		p.exit(c, 137)
	}
}
