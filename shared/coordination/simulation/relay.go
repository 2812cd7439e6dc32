package simulation

import (
	"errors"
	"slices"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/relay"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
	"github.com/holdfast-project/holdfast/shared/coordination/worker"
)

// relaying is the state of an agent that acts as a relay.
type relaying struct {
	served []*via
	batch  relay.Batch[*joining]
	idle   time.Duration // until this time, it only answers pings
	late   time.Duration // until this time, it answers and forwards after lag
	lag    time.Duration
	random random
}

// joining is a member that is waiting for the answer to its join.
type joining struct {
	pod    *pod
	call   rounds.Call
	answer func(reply, error)
}

// via is a member's connection to its relay. Messages arrive in the order in which they were sent.
type via struct {
	sub     *subscription
	member  *agent
	relay   *agent
	run     int // run of the relay's process
	link    *relay.Link
	random  random
	over    bool
	due     time.Duration // when the link is checked next
	arrived [2]time.Duration
	waiting []*waiting
}

// waiting is a request that the relay has not answered.
type waiting struct {
	direct func() // makes the request without the relay
}

// relaySlot returns the slot of the agent's relay, or "" if it has none.
func (a *agent) relaySlot() string {
	if a.shape.Relays == 0 {
		return ""
	}
	return relay.Plan{From: 2, Per: a.shape.Relays}.Of(a.pod.job.entry.stage(), a.pod.workedSlot().Name)
}

func (a *agent) relays() bool { return a.relaySlot() != "" && a.relaySlot() == a.pod.workedSlot().Name }

// seek connects to the relay, or retries later.
func (a *agent) seek(after time.Duration) {
	a.later(after, func() {
		random := newRandom(a.seed, "relay "+a.name)
		if !a.relays() { // it may have relayed in another slot
			a.stopRelaying()
		}
		switch r := a.findRelay(); {
		case a.relays() || a.sub.via != nil:
		case r != nil && !a.link.cut() && !r.pod.node.cut:
			a.sub.connectVia(a, r, random)
			return
		}
		a.seek(relay.Back(random.Float64()))
	})
}

// stopRelaying closes the members' connections.
func (a *agent) stopRelaying() {
	for _, v := range slices.Clone(a.relaying.served) {
		v.leave()
	}
}

// findRelay returns the newest agent of the group that works in the relay's slot, or nil.
func (a *agent) findRelay() *agent {
	for _, p := range slices.Backward(a.pods) {
		if p.agent.up && p.job.owner == a.pod.job.owner && p != a.pod && p.workedSlot().Name == a.relaySlot() {
			return p.agent
		}
	}
	return nil
}

// connectVia continues the subscription through a relay.
func (s *subscription) connectVia(member, r *agent, random random) {
	s.session++
	s.open, s.inbox = false, nil
	v := &via{sub: s, member: member, relay: r, run: r.run, link: relay.NewLink(moment(s.link.now)), random: random}
	s.via, r.relaying.served = v, append(r.relaying.served, v)
	member.say("uses the relay %s", r.name)
	s.observe(rounds.Observation{Err: coordination.ErrSwitched})
	if v.over {
		return // the agent has crashed
	}
	s.read(s.session)
	v.check()
	v.checkRole()
}

// roleEvery is how often a member checks whether it has become a relay itself.
const roleEvery = 4 * time.Second

// checkRole makes a member that was assigned a relay's slot leave its own relay.
func (v *via) checkRole() {
	v.member.later(roleEvery, func() {
		switch {
		case v.over:
		case v.member.relays():
			v.leave()
		default:
			v.checkRole()
		}
	})
}

// leave switches back to the store.
func (v *via) leave() {
	if v.over {
		return
	}
	v.end()
	v.member.say("leaves the relay %s", v.relay.name)
	v.sub.observe(rounds.Observation{Err: coordination.ErrSwitched})
	if v.sub.closed {
		return // the agent has crashed
	}
	v.sub.connect()
	for _, w := range v.waiting {
		w.direct()
	}
	v.member.seek(relay.Back(v.random.Float64()))
}

func (v *via) end() {
	v.over, v.sub.via = true, nil
	v.relay.relaying.served = slices.DeleteFunc(v.relay.relaying.served, func(other *via) bool { return other == v })
}

// check executes the link's decision.
func (v *via) check() {
	if v.over {
		return
	}
	verdict, next := v.link.Check(moment(v.member.now))
	switch {
	case verdict == relay.Leave && !v.member.mutant.Loyal:
		v.leave()
		return
	case verdict == relay.Leave:
		return
	case verdict == relay.Ping:
		v.send(toRelay, func() { v.send(toMember, func() {}) })
	}
	due := next.Sub(beginning)
	if v.due == due {
		return
	}
	v.due = due
	v.member.later(max(0, due-v.member.now), func() {
		if v.due == due {
			v.due = 0
			v.check()
		}
	})
}

// direction is the direction of a message.
type direction int

const (
	toRelay direction = iota
	toMember
)

// send delivers a message unless the connection or one of its ends is gone.
func (v *via) send(to direction, do func()) {
	w := v.member.world
	at := max(v.arrived[to], w.now+v.random.between(100*time.Microsecond, 2*time.Millisecond))
	v.arrived[to] = at
	w.at(at, func() {
		switch {
		case v.over || v.relay.run != v.run || v.member.pod.node.cut || v.relay.pod.node.cut || v.member.link.cut():
		case to == toRelay:
			v.relay.later(0, do)
		default:
			v.member.later(0, func() {
				if !v.over {
					v.link.Heard(moment(w.now))
					do()
					v.check()
				}
			})
		}
	})
}

// work runs a relay's work for its members. It does nothing if the relay is idle, and runs the work later if the relay is behind.
func (a *agent) work(do func()) {
	switch {
	case a.now < a.relaying.idle:
	case a.now < a.relaying.late:
		a.later(a.relaying.lag, do)
	default:
		do()
	}
}

// ask sends a request to the relay, which runs serve. If the relay does not answer, direct makes the request without it.
func (v *via) ask(serve func(done func(answer func())), direct func()) {
	w := &waiting{direct: direct}
	v.waiting = append(v.waiting, w)
	v.link.Requested(moment(v.member.now))
	v.send(toRelay, func() {
		v.relay.work(func() {
			serve(func(answer func()) {
				v.send(toMember, func() {
					v.waiting = slices.DeleteFunc(v.waiting, func(other *waiting) bool { return other == w })
					v.link.Answered(moment(v.member.now), len(v.waiting) > 0)
					answer()
				})
			})
		})
	})
	v.check()
}

// fetchVia performs a read for the subscription, through its relay if it has one.
func fetchVia[T any](s *subscription, serve func(*server) (T, error), answer func(T, error)) {
	direct := func() { request(s.link, serve, answer) }
	if s.via == nil {
		direct()
		return
	}
	r := s.via.relay
	s.via.ask(func(done func(func())) {
		request(r.link, serve, func(t T, err error) { done(func() { answer(t, err) }) })
	}, direct)
}

// join sends the join through the relay, or together with others if the agent is a relay. It returns false if neither applies.
func (a *agent) join(c rounds.Call, answer func(reply, error), direct func()) bool {
	switch {
	case !relay.Joins(c) || a.shape.Relays == 0:
		return false
	case a.sub.via != nil:
		v := a.sub.via
		v.ask(func(done func(func())) {
			v.relay.gather(&joining{a.pod, c, func(r reply, err error) {
				done(func() {
					if isTransport(err) {
						v.link.StoreLost(moment(a.now), v.random.Float64())
					}
					answer(r, err)
				})
			}})
		}, direct)
		return true
	case a.relays():
		a.gather(&joining{a.pod, c, answer})
		return true
	}
	return false
}

// gather adds a join to the relay's next call. The delay lets joins accumulate, as they do with many members while a call is in
// progress.
func (a *agent) gather(j *joining) {
	a.relaying.batch.Add(j, j.call, false)
	if a.relaying.random.Rand == nil {
		a.relaying.random = newRandom(a.seed, "gather "+a.name)
	}
	a.later(a.relaying.random.between(0, 400*time.Millisecond), a.joinNext)
}

func (a *agent) joinNext() {
	c, who, ok := a.relaying.batch.Next()
	if !ok {
		return
	}
	if a.mutant.Batch != nil {
		c = a.mutant.Batch(c)
	}
	request(a.link, func(s *server) ([]reply, error) { return s.joinAll(who, c) }, func(replies []reply, err error) {
		a.relaying.batch.Done()
		if change := a.mutant.Replies; change != nil {
			change(replies)
		}
		for i, j := range who {
			switch {
			case err == nil:
				j.answer(replies[i], nil)
			case len(who) > 1 && !isTransport(err):
				a.relaying.batch.Add(j, j.call, true)
			default:
				j.answer(reply{}, err)
			}
		}
		a.joinNext()
	})
}

// forward forwards what the relay observes to its members.
func (a *agent) forward(e worker.Event) {
	u, is := e.(worker.Updated)
	if !is || errors.Is(u.Err, coordination.ErrForeignValue) {
		return
	}
	a.work(func() {
		for _, v := range slices.Clone(a.relaying.served) {
			session := v.sub.session
			v.send(toMember, func() { v.told(session, u.Observation) })
		}
	})
}

// told handles what a member observes through its relay. If the relay has read the level, the member reads it again, because it may
// have received a newer message in between.
func (v *via) told(session int, o rounds.Observation) {
	now := moment(v.member.now)
	switch {
	case isTransport(o.Err):
		v.link.StoreLost(now, v.random.Float64())
		v.sub.observe(o)
	case o.Read:
		v.link.Told(now, o.Level.Restarting(), true)
		v.sub.read(session)
	default:
		v.link.Told(now, o.Level.Restarting(), false)
		v.sub.receive(session, o)
	}
}

// drop ends the connections to a relay whose process ends.
func (a *agent) drop() {
	for _, v := range slices.Clone(a.relaying.served) {
		if !v.member.link.cut() && !a.pod.node.cut {
			v.member.later(v.random.between(100*time.Microsecond, 2*time.Millisecond), v.leave)
		}
	}
	a.relaying = relaying{}
}

// relayOf returns the relay that the pod's agent uses, or the agent itself if it uses none.
func (p *pod) relayOf() *agent {
	if p.agent.sub != nil && p.agent.sub.via != nil {
		return p.agent.sub.via.relay
	}
	return p.agent
}

// relayFaults are the faults that affect a pod's relay.
var relayFaults = map[Kind]func(*pod, Fault){
	RelayDies: func(p *pod, _ Fault) { p.relayOf().crash() },
	RelayIdle: func(p *pod, f Fault) { p.relayOf().relaying.idle = p.now + 2*f.For },
	RelayLate: func(p *pod, f Fault) {
		r := p.relayOf()
		r.relaying.late, r.relaying.lag = p.now+2*f.For, time.Duration(f.Count)*300*time.Millisecond
	},
	RelayHangs: func(p *pod, f Fault) { p.relayOf().pause(f.For) },
}
