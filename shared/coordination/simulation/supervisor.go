package simulation

import (
	"fmt"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination/worker"
)

// The supervisor is the agent of a pod with the exec driver: the worker's container is the agent's own process, and the instances
// are its children.
//
//	Prepare  an instance that is waiting, without a process
//	Start    its user code is running
//	Stop     ends either of these
//	Release  the container exits with code 0
//
// When the container dies, so does the child, and the kubelet starts the container again.

// makeInstance executes Prepare.
func (p *pod) makeInstance() {
	if p.over || p.terminating || p.living() != nil {
		return
	}
	p.births++
	c := &instance{
		id: fmt.Sprintf("%s/p%d", p.uid, p.births), born: p.node.wall().UnixMicro(), pod: p, slot: p.slot, running: true,
	}
	p.containers = append(p.containers[:0:0], c)
	p.truth.born(c)
	p.note(p.uid, "%s waits at the barrier", c.id)
	p.agent.look()
}

// lift runs the user code of an instance, if it is still the newest.
func (p *pod) lift(l worker.Start) {
	c := p.living()
	if c == nil || c.id != l.ID || c.lifted || p.terminating {
		return
	}
	c.lifted, c.started, c.rendezvous, c.slot = true, p.now, rendezvous{l.Generation, l.Round}, l.Slot
	p.note(p.uid, "worker %s starts in round %d.%d", c.id, l.Generation, l.Round)
	p.truth.lifted(c)
	p.agent.later(0, p.agent.look)
	p.mayDieYoung(c)
}

// containerDied ends the child together with its supervisor. The kubelet then backs off as for any container.
func (p *pod) containerDied() {
	if c := p.living(); c != nil {
		p.immune = 0
		p.exit(c, 137)
	}
	p.containers = nil
	died := p.now
	p.in(p.node.nextRelist(), func() {
		if p.over || p.terminating || p.ended() {
			return
		}
		wait := p.loop.wait(died)
		left := max(0, died+wait-p.now)
		p.waiting = wait > 0
		p.in(p.random.between(left, left+left/2)+p.random.between(100*time.Millisecond, 600*time.Millisecond), func() {
			if p.over || p.terminating {
				return
			}
			p.loop.grant(p.now, wait)
			p.waiting = false
			p.agent.start()
		})
	})
}
