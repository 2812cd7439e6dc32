package member

import (
	"context"
	"fmt"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination"
)

// pod is a slot with its kubelet, its runtime, its volume and its agent.
type pod struct {
	*world
	slot, uid  string
	born       int64
	containers []*Worker
	file       Memory
	hasFile    bool
	agent      *State
	run        int // of the agent; what was meant for an earlier one is lost
	replaced   int
	finished   bool // its worker has finished by itself
}

func newPod(w *world, i int) *pod {
	p := &pod{world: w, slot: fmt.Sprintf("js-w-0-%d", i)}
	p.replace()
	return p
}

// replace puts a new pod into the slot: another UID, an empty volume.
func (p *pod) replace() {
	p.crash()
	p.replaced++
	p.births++
	p.uid, p.born = fmt.Sprintf("%s/pod%d", p.slot, p.replaced), p.births
	p.containers, p.file, p.hasFile, p.finished = nil, Memory{}, false, false
	p.note("new pod %s", p.uid)
	p.after(p.between(time.Millisecond, 50*time.Millisecond), p.startAgent)
	p.start(p.between(100*time.Millisecond, time.Second))
}

// here wraps what must not outlive the pod.
func (p *pod) here(do func()) func() {
	uid := p.uid
	return func() {
		if p.uid == uid {
			do()
		}
	}
}

func (p *pod) crash() {
	p.agent = nil
	p.world.order++
	p.run++
}

func (p *pod) startAgent() {
	if p.agent != nil || p.finished {
		return
	}
	m := Fresh()
	if p.hasFile {
		m = p.file
	}
	p.run++
	p.agent = New(Config{Slot: p.slot, Pod: p.uid, Grace: time.Second, Random: p.rng.Float64}, m)
	p.look()
	p.watch()
}

// watch reads at intervals.
func (p *pod) watch() {
	p.step(Told{p.read()})
	run := p.run
	p.after(p.between(15*time.Second, 30*time.Second), func() {
		if p.run == run && p.agent != nil {
			p.watch()
		}
	})
}

func (p *pod) look() {
	o := Observed{PodBorn: p.born}
	for _, c := range p.containers {
		o.Workers = append(o.Workers, *c)
	}
	p.step(o)
}

func (p *pod) step(e Event) {
	if p.agent == nil {
		return
	}
	for _, a := range p.agent.Step(p.now, e) {
		if _, ok := a.(Save); ok && !p.calm && p.chance(3) {
			p.note("%s agent dies before it saves", p.uid)
			p.crash()
			p.after(time.Second, p.here(p.startAgent))
			return
		}
		p.perform(a)
	}
	if next, ok := p.agent.NextTick(); ok {
		p.after(max(0, next.Sub(p.now)), p.whileRunning(func() { p.step(Tick{}) }))
	}
}

// whileRunning wraps what is meant for the running agent only.
func (p *pod) whileRunning(do func()) func() {
	run := p.run
	return func() {
		if p.run == run {
			do()
		}
	}
}

func (p *pod) perform(a Action) {
	if _, quiet := a.(Log); !quiet {
		p.note("%s %s", p.uid, show(a))
	}
	ctx := context.Background()
	switch a := a.(type) {
	case Join:
		p.call(func() (coordination.Reply, error) { return p.store.Join(ctx, group, a.Join) })
	case Down:
		p.call(func() (coordination.Reply, error) { return p.store.Down(ctx, group, a.Down) })
	case Ask:
		p.call(func() (coordination.Reply, error) { return p.store.Ask(ctx, group, a.Member, a.Kind) })
	case Stop:
		p.stop(a)
	case Remove:
		p.remove(a.IDs)
	case Save:
		p.file, p.hasFile = a.Memory, true
	case Look:
		p.after(time.Second, p.whileRunning(p.look))
	}
}

// call takes its time both ways; the request or its answer may be lost.
func (p *pod) call(do func() (coordination.Reply, error)) {
	p.after(p.between(0, 5*time.Millisecond), p.whileRunning(func() {
		lostRequest, lostReply := !p.calm && p.chance(4), !p.calm && p.chance(4)
		a := Answered{Err: errAway}
		if !lostRequest {
			a.Reply, a.Err = do()
			p.publish()
		}
		wait := p.between(0, 5*time.Millisecond)
		if lostRequest || lostReply {
			a, wait = Answered{Err: errAway}, 2*time.Second
		}
		p.after(wait, p.whileRunning(func() { p.step(a) }))
	}))
}

func (p *pod) inSync(g *coordination.Group) string {
	held, c := g.Slots[p.slot], p.newest()
	switch {
	case p.finished:
		return "" // the store may have lost the report; the leader finds the finished pod
	case held == nil:
		return "the store does not know it"
	case c == nil || !c.Running:
		return "no worker runs"
	case held.Instance != c.Instance || held.Dead || held.Round != g.Round:
		return fmt.Sprintf("the store has %+v, %s runs", *held, c.ID)
	case p.agent == nil || p.agent.fenced || !p.agent.Settled():
		return "its agent is not settled"
	case p.file.Round != g.Round || p.file.Instance != c.Instance || !p.file.Running:
		return fmt.Sprintf("its file says %+v", p.file)
	}
	return ""
}
