package simulation

import (
	"slices"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
	"github.com/holdfast-project/holdfast/shared/coordination/simulation/memory"
)

// inject injects a fault. A fault without a target, such as the death of a worker that does not exist, has no effect.
func (w *world) inject(f Fault) {
	w.note("FAULT", "%s (target %d, for %s, count %d)", f.Kind, f.Target, f.For, f.Count)
	if do, ok := worldFaults[f.Kind]; ok {
		do(w, f)
		return
	}
	if do, ok := leaderFaults[f.Kind]; ok {
		if o := w.leader(); o != nil {
			do(o, f)
		}
		return
	}
	do, ok := podFaults[f.Kind]
	if !ok {
		do, ok = relayFaults[f.Kind]
	}
	if !ok {
		panic("unknown fault " + string(f.Kind))
	}
	if p := w.target(f.Target); p != nil {
		do(p, f)
	}
}

// target returns one of the pods in the API server.
func (w *world) target(n int) *pod {
	var present []*pod
	for _, p := range w.pods {
		if !p.gone && !p.ended() {
			present = append(present, p)
		}
	}
	if len(present) == 0 {
		return nil
	}
	return present[n%len(present)]
}

// die ends a pod's running worker. A worker that is waiting at a barrier has no process that could die.
func (p *pod) die(code int64) {
	if c := p.living(); c != nil && c.lifted {
		p.exit(c, code)
	}
}

var podFaults = map[Kind]func(*pod, Fault){
	WorkerDies: func(p *pod, f Fault) { p.die(int64(f.Count)) },
	WorkerFinishes: func(p *pod, _ Fault) {
		if c := p.living(); c != nil && c.lifted && !p.terminating {
			c.done = true
			p.exit(c, 0)
		}
	},
	WorkerHangs: func(p *pod, _ Fault) { p.hang() },
	OutOfMemory: func(p *pod, _ Fault) {
		if p.driver() == Exec {
			p.agent.crash() // the kernel ends the whole container
			return
		}
		p.die(137)
	},
	Unkillable:     func(p *pod, f Fault) { p.immune = p.now + 3*f.For },
	Polite:         func(p *pod, _ Fault) { p.polite = true },
	RuntimeRefuses: func(p *pod, f Fault) { p.refuses = f.Count },
	BlindRuntime:   func(p *pod, f Fault) { p.blind = p.now + f.For },
	LateTermNotice: func(p *pod, f Fault) { p.slow = f.For },
	DiesStarting:   func(p *pod, _ Fault) { p.dieYoung = 1; p.die(1) },
	DiesAgain:      func(p *pod, f Fault) { p.dieYoung = min(3, f.Count); p.die(1) },
	WrongClock: func(p *pod, f Fault) {
		p.node.skew += f.jump()
	},
	NodeCrashes: func(p *pod, f Fault) {
		if p.node.replaceable() {
			p.node.crash()
			p.in(f.For, p.node.clear)
		}
	},
	NodeCutOff: func(p *pod, f Fault) {
		p.node.cut = true
		p.in(f.For, p.node.heal)
	},
	Zombie: func(p *pod, f Fault) {
		p.node.cut = true
		p.in(f.For/4, p.forceDelete)
		p.in(f.For+20*time.Second, p.node.heal)
	},
	PodDeleted:    func(p *pod, _ Fault) { p.deletePod(p) },
	PodForced:     func(p *pod, _ Fault) { p.forceDelete() },
	PodFails:      func(p *pod, _ Fault) { p.fail() },
	PodDuplicated: func(p *pod, f Fault) { p.double(f.For) },
	PodStuck:      func(p *pod, _ Fault) { p.stick() },
	PodFenced:     func(p *pod, _ Fault) { p.fence() },
	JobRecreated: func(p *pod, _ Fault) {
		p.truth.excused(p.job)
		p.job.remove("user", "by hand")
	},
	AgentCrashes: func(p *pod, _ Fault) { p.agent.crash() },
	AgentFuse:    func(p *pod, f Fault) { p.agent.fuse = f.Count },
	AgentForgets: func(p *pod, _ Fault) {
		p.forgets()
	},
	AgentPauses:  func(p *pod, f Fault) { p.agent.pause(f.For) },
	RequestsLost: func(p *pod, f Fault) { p.agent.link.loseRequests = f.Count },
	RepliesLost:  func(p *pod, f Fault) { p.agent.link.loseReplies = f.Count },
	Duplicates:   func(p *pod, f Fault) { p.agent.link.duplicate = f.Count },
	SlowMessages: func(p *pod, f Fault) { p.agent.link.slow, p.agent.link.slowness = 2*f.Count, f.For },
	Deaf:         func(p *pod, f Fault) { p.agent.link.deaf = p.now + f.For },
	HalfOpen:     func(p *pod, f Fault) { p.agent.link.breakSilently(f.For) },
	AlwaysExits: func(p *pod, _ Fault) {
		if slot := p.workedSlot().Name; slices.Contains(p.slots, slot) { // a waiting spare has no worker that could exit
			p.culprits.add(slot, AlwaysExits)
			p.die(1)
		}
	},
	NeverStarts: func(p *pod, _ Fault) {
		p.culprits.add(p.slot, NeverStarts)
		p.deletePod(p)
	},
	NodeSilent: func(p *pod, _ Fault) { p.node.silence() },
	PolicyRestart: func(p *pod, _ Fault) {
		p.note("job", "%s fails", p.job.name)
		p.job.failed = true
		p.truth.excused(p.job)
		p.job.kick()
		p.controller.kick()
	},
}

var leaderFaults = map[Kind]func(*orchestrator, Fault){
	LeaderCrashes: func(o *orchestrator, _ Fault) { o.crash() },
	LeaderFuse:    func(o *orchestrator, f Fault) { o.fuse = f.Count },
	LeaderPauses:  func(o *orchestrator, f Fault) { o.pause(2 * f.For) },
	LeaderSlow:    func(o *orchestrator, f Fault) { o.link.slow, o.link.slowness = 4*f.Count, f.For/4 },
	LeaderCut:     func(o *orchestrator, f Fault) { o.link.breakSilently(f.For) },
}

var worldFaults = map[Kind]func(*world, Fault){
	Forged: (*world).forge,
	AllDie: func(w *world, f Fault) {
		for _, p := range w.pods {
			w.in(w.random.between(0, 50*time.Millisecond), func() { p.die(1) })
		}
	},
	PeersDie: func(w *world, f Fault) {
		for i, wait := range []time.Duration{0, f.For / 10} {
			if p := w.target(f.Target + i); p != nil {
				w.in(wait, func() { p.die(1) })
			}
		}
	},
	StoreClock: func(w *world, f Fault) {
		w.store.skew += f.jump()
	},
	AllDeaf: func(w *world, f Fault) {
		for _, p := range w.pods {
			p.agent.link.deaf = w.now + f.For
		}
		for _, o := range w.orchestrators {
			o.link.deaf = w.now + f.For
		}
	},
	StoreDown: func(w *world, f Fault) { w.store.first.restart(f.For, nil, "is down") },
	StoreBack: func(w *world, f Fault) {
		w.store.first.back(f.For%time.Second, time.Duration(f.Count)*100*time.Millisecond, "crashes and loses its last moments")
	},
	ReplicaBehind: func(w *world, f Fault) {
		w.store.first.back(f.For/4, time.Duration(f.Count)*100*time.Millisecond, "fails over to a replica that is behind")
	},
	StoreWiped: func(w *world, f Fault) {
		w.store.first.restart(time.Duration(f.Count)*100*time.Millisecond, &memory.Dump{}, "loses everything")
	},
	WrongVersion: func(w *world, f Fault) { w.store.foreign = w.now + f.For },
	TwoPrimaries: func(w *world, f Fault) { w.store.split(f.For/2, f.Count%2 == 0) },
	LeadersGone: func(w *world, f Fault) {
		for _, o := range w.orchestrators {
			o.crash()
			o.pause(2 * f.For)
		}
	},
	StaleCache: func(w *world, f Fault) {
		for _, o := range w.orchestrators {
			o.stale = w.now + f.For/4
		}
	},
	Controller: func(w *world, f Fault) { w.controller.fuse = 1 + f.Count/2 },
	Suspended: func(w *world, f Fault) {
		w.api.spec("queue", func(js *jobSet) { js.suspended = true })
		w.in(f.For, func() { w.api.spec("queue", func(js *jobSet) { js.suspended = false }) })
	},
	Resized:       (*world).resize,
	SparesResized: (*world).resizeSpares,
	Recreated:     func(w *world, f Fault) { w.recreate(f.Count%2 == 0) },
}

// breakSilently drops all messages for a while. The subscription detects this through its pings.
func (l *link) breakSilently(d time.Duration) {
	l.halfOpen = l.now + d
	if sub := l.subscription(); sub != nil && d > pingEvery {
		sub.reset()
	}
}

func (l *link) subscription() *subscription {
	for _, sub := range l.store.subscribers {
		if sub.link == l && sub.open {
			return sub
		}
	}
	return nil
}

// forceDelete removes a pod from the API, regardless of its node.
func (p *pod) forceDelete() {
	if p.gone {
		return
	}
	p.deleting = true
	p.podGone(p)
	if !p.over {
		p.in(p.random.between(5*time.Millisecond, 500*time.Millisecond), p.terminate)
	}
}

// double creates a second pod for the slot for a while, like a controller that acts on a stale cache. The Job owns one of the
// two; the other one is deleted.
func (p *pod) double(d time.Duration) {
	if p.over || p.deleting {
		return
	}
	extra := p.createPod(p.job, p.slot)
	if d%2 == 0 {
		extra = p
	}
	extra.duplicate = true
	p.in(d/4+time.Second, func() { extra.deletePod(extra) })
}

// stick ends the worker in a pod with a sidecar and makes its restarts fail. It does so only while all workers are running and only
// for one pod at a time, because a pod that was created for a round is not replaced again in that round, and no pods are replaced
// if most of a group is missing.
func (p *pod) stick() {
	another := slices.ContainsFunc(p.pods, func(other *pod) bool { return other.stuck && !other.gone })
	if g := p.group(); !another && p.driver() == CRI && g != nil && g.Phase == coordination.Running && p.now-p.created > 2*time.Second {
		p.stuck = true
		p.die(1)
	}
}

// fence releases a pod that holds its slot.
func (p *pod) fence() {
	s, uid := p.store.first, p.job.owner
	if v := s.view(uid); s.up && v != nil && v.holders[p.workedSlot().Name] == p.uid && p.leader() != nil {
		_, _ = s.release(uid, v.stored.Config.Token, p.workedSlot(), rounds.LostPod(p.workedSlot().Name, coordination.Place{}), repair, rounds.Slot{})
	}
}

// resize changes the number of Jobs of the first replicatedJob.
func (w *world) resize(f Fault) {
	js := w.api.current
	if js == nil || js.deleted || js.finished() {
		return
	}
	more := int64(1)
	if f.Count%2 == 0 && w.entries(*js)[0].Jobs > 1 {
		more = -1
	}
	w.api.spec("user", func(js *jobSet) { js.more += more })
	w.slots = w.slotsOf(*w.api.current)
	w.note("user", "changes the number of Jobs by %d", more)
}

// recreate deletes the JobSet and creates another one with the same name. With background deletion, the old pods keep running for
// a while.
func (w *world) recreate(background bool) {
	if w.api.current == nil {
		return
	}
	if background {
		w.api.remove()
		w.in(w.random.between(100*time.Millisecond, 2*time.Second), w.api.create)
		return
	}
	uid := w.api.current.uid
	w.api.spec("user", func(js *jobSet) { js.deleted = true })
	w.createAfter(uid)
}

// createAfter creates the next JobSet once the JobSet with the given UID is gone.
func (w *world) createAfter(uid string) {
	switch {
	case w.api.current == nil:
		w.api.create()
	case w.api.current.uid == uid:
		w.in(500*time.Millisecond, func() { w.createAfter(uid) })
	}
}
