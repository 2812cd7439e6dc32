package member

import (
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination"
)

func (p *pod) newest() *Worker {
	if len(p.containers) == 0 {
		return nil
	}
	return p.containers[len(p.containers)-1]
}

// start runs a new container after a while and keeps one dead record, as the kubelet does.
func (p *pod) start(after time.Duration) {
	p.after(after, p.here(func() {
		if c := p.newest(); c != nil && c.Running {
			return
		}
		p.births++
		id := fmt.Sprintf("%s/c%d", p.uid, p.births)
		p.containers = append(p.containers, &Worker{Instance: coordination.Instance{ID: id, Born: p.births}, Running: true})
		if dead := len(p.containers) - 2; dead > 0 {
			p.containers = p.containers[dead:]
		}
		p.note("%s starts", id)
		p.wake()
	}))
}

// wake lets the runtime's event reach the agent, sometimes only by the next poll.
func (p *pod) wake() {
	delay := p.between(time.Millisecond, 10*time.Millisecond)
	if p.chance(5) {
		delay = 10 * time.Second
	}
	p.after(delay, p.here(p.look))
}

// exit ends a container. The kubelet looks later and restarts whatever did not succeed.
func (p *pod) exit(c *Worker, code int64, byItself bool) {
	if !c.Running {
		return
	}
	c.Running, c.ExitCode, c.FinishedAt = false, code, p.now.UnixMilli()
	p.note("%s exits %d", c.ID, code)
	p.wake()
	p.after(p.between(200*time.Millisecond, 1200*time.Millisecond), p.here(func() {
		switch {
		case code != 0 || !slices.Contains(p.containers, c):
			p.start(p.between(0, 2*time.Second))
		case byItself:
			p.finish()
		default:
			// The pod succeeded by mistake: its Job is recreated.
			p.note("%s has succeeded", p.uid)
			p.after(5*time.Second, p.here(p.replace))
		}
	}))
}

// finish ends the pod: the kubelet gives the agent a moment to report. If it cannot, the Job is recreated.
func (p *pod) finish() {
	if p.agent != nil {
		p.look()
	}
	p.after(time.Second, p.here(func() {
		if p.agent == nil || !p.agent.Settled() {
			p.replace()
			return
		}
		p.finished = true
		p.crash()
	}))
}

func (p *pod) remove(ids []string) {
	p.containers = slices.DeleteFunc(p.containers, func(c *Worker) bool { return slices.Contains(ids, c.ID) && !c.Running })
	p.wake()
}

// stop checks the order before it follows it.
func (p *pod) stop(a Stop) {
	key := fmt.Sprint(a.ID, p.run)
	p.stops[key]++
	p.killed++
	if p.stops[key] > 1 {
		p.fail("%s is stopped twice", a.ID)
	}
	if g := p.store.Dump()[group]; g != nil {
		// Against the highest round ever desired, as a store may go back after it has given an order. What it did in the
		// second before cannot be told from what it does in the second after.
		held := g.Slots[p.slot]
		if p.now.Sub(p.back) > time.Second && held != nil && held.ID == a.ID && held.Generation == g.Generation && held.Round >= p.desired[g.Epoch] && !held.Dead {
			p.fail("%s of the desired round %d is stopped", a.ID, g.Round)
		}
	}
	took := p.between(10*time.Millisecond, 200*time.Millisecond)
	p.after(took, p.here(func() {
		for _, c := range p.containers {
			if c.ID == a.ID {
				p.exit(c, []int64{143, 143, 0}[p.rng.IntN(3)], false)
			}
		}
		p.step(StopEnded{ID: a.ID, Took: took})
	}))
}
