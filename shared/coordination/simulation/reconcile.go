package simulation

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/leader"
)

// scope is what one look of the leader has observed; steps bring it up to date.
type scope struct {
	js     jobSet
	wanted *leader.Wanted
	group  *coordination.Summary
	opened bool
	losses []loss
	steps  int
}

const maxSteps = 8

// reconcile observes, tells the store of lost pods, and then takes one step after the other.
func (o *orchestrator) reconcile() {
	if o.cache == nil {
		return
	}
	o.busy = true
	s := &scope{js: *o.cache}
	s.wanted = o.want(s.js)
	if s.wanted == nil && !s.js.counted {
		o.finish(resyncEvery)
		return
	}
	o.store(s, func(v *server) (coordination.Summary, error) { return v.summary(s.js.uid) }, func() {
		s.losses, o.losses = o.losses, nil
		o.evictLost(s, s.losses)
	})
}

// want is the group that the JobSet asks for.
func (o *orchestrator) want(js jobSet) *leader.Wanted {
	if js.finished() || js.deleted {
		return nil
	}
	return &leader.Wanted{Stages: o.shape.stages(), Suspended: js.suspended, Done: o.finishedSlots(js)}
}

// finishedSlots are the completed indexes of the current Jobs.
func (o *orchestrator) finishedSlots(js jobSet) []string {
	var done []string
	for _, j := range o.controller.current(js) {
		for _, s := range j.seats {
			if s.completed {
				done = append(done, s.slot)
			}
		}
	}
	return done
}

// store asks the store for something that returns the group's state, and goes on with it.
func (o *orchestrator) store(s *scope, serve func(*server) (coordination.Summary, error), then func()) {
	if !o.survives() {
		return
	}
	request(o.link, serve, func(sum coordination.Summary, err error) {
		if !o.survives() {
			return
		}
		switch {
		case err == nil:
			s.group = &sum
			o.keepClock(s)
		case errors.Is(err, coordination.ErrNoGroup):
			s.group = nil
			o.keepClock(s)
		case errors.Is(err, coordination.ErrUnknownSlot):
		default:
			o.note(o.name, "the store says: %v", err)
			o.losses = append(o.losses, s.losses...)
			o.finish(o.random.between(500*time.Millisecond, 1500*time.Millisecond))
			return
		}
		then()
	})
}

// keepClock keeps since when this leader has seen the round in progress.
func (o *orchestrator) keepClock(s *scope) {
	if s.group == nil || !leader.Timed(*s.group) {
		o.round = started{}
		return
	}
	now := started{s.js.uid, s.group.Phase, s.group.Epoch, s.group.Round, o.now}
	same := o.round
	same.at = now.at
	if same != now {
		o.round = now
	}
}

// evictLost tells the store of one lost pod after the other. Pods that had to go leave no gap.
func (o *orchestrator) evictLost(s *scope, losses []loss) {
	for len(losses) > 0 {
		lost := losses[0]
		losses = losses[1:]
		if lost.pod.job.owner != s.js.uid || s.wanted == nil || s.wanted.Suspended || s.group == nil {
			continue
		}
		finished := slices.Contains(s.wanted.Done, lost.pod.slot) && !lost.gap
		if !lost.gap || finished || s.js.epoch.Stale(lost.pod.job.epoch) {
			continue
		}
		o.evict(s, lost.pod, func() { o.evictLost(s, losses) })
		return
	}
	o.decide(s)
}

func (o *orchestrator) evict(s *scope, p *pod, then func()) {
	o.note(o.name, "evicts %s", p.uid)
	o.store(s, func(v *server) (coordination.Summary, error) {
		return v.evict(s.js.uid, o.token, p.slot, p.uid, lostPod)
	}, then)
}

func (o *orchestrator) input(s *scope) leader.Input {
	in := leader.Input{
		Wanted: s.wanted, Group: s.group, Epoch: s.js.epoch, Charged: s.js.charged, Counted: s.js.counted,
		Budget: o.budget(), Overdue: o.round != (started{}) && o.now-o.round.at >= o.shape.Timeout, Opened: s.opened,
	}
	in.Epoch.Base = max(in.Epoch.Base, s.js.recounts)
	if s.js.marked {
		in.Mark = leader.Marked
		if o.now >= s.js.deadline {
			in.Mark = leader.Outdated
		}
	}
	return in
}

// decide takes the next step, until there is none.
func (o *orchestrator) decide(s *scope) {
	next := leader.Next
	if o.mutant.Next != nil {
		next = o.mutant.Next
	}
	step := next(o.input(s))
	if step.Kind == leader.Nothing {
		o.settle(s)
		return
	}
	if s.steps++; s.steps > maxSteps {
		o.note(o.name, "does not settle")
		o.finish(time.Second)
		return
	}
	o.apply(s, step)
}

func (o *orchestrator) apply(s *scope, step leader.Step) {
	uid, again := s.js.uid, func() { o.decide(s) }
	switch step.Kind {
	case leader.Drop:
		o.drop(s, again)
	case leader.OpenGroup:
		o.pages++
		step.Open.Token, step.Open.Incarnation = o.token, fmt.Sprintf("%s-%d", o.name, o.serialOf())
		s.opened = true
		o.note(o.name, "opens epoch %d, limit %d, suspended %t", step.Open.Epoch, step.Open.Limit, step.Open.Suspended)
		o.store(s, func(v *server) (coordination.Summary, error) { return v.openGroup(uid, step.Open) }, again)
	case leader.GiveUp:
		g := *s.group
		o.note(o.name, "gives round %d up", g.Round)
		o.store(s, func(v *server) (coordination.Summary, error) {
			return v.recreate(uid, o.token, g.Epoch, g.Round, coordination.KindTimeout)
		}, again)
	case leader.RestoreEpoch:
		o.annotate(s, func(js *jobSet) { js.epoch = step.Epoch })
	case leader.Charge:
		o.annotate(s, func(js *jobSet) { js.charged, js.counted = step.Charged, true; o.mark(js, step.Mark) })
	case leader.WriteMark:
		o.annotate(s, func(js *jobSet) { o.mark(js, step.Mark) })
	case leader.FailOver:
		if o.mutant.DeleteFirst {
			o.deleteAll(s)
		}
		o.annotate(s, func(js *jobSet) { js.epoch, js.charged = step.Epoch, step.Charged; o.mark(js, false) })
	}
}

// serialOf makes incarnations differ.
func (o *orchestrator) serialOf() int {
	o.serial++
	return o.serial
}

func (o *orchestrator) mark(js *jobSet, set bool) {
	js.marked, js.deadline = set, 0
	if set {
		js.deadline = o.round.at + o.shape.Timeout
	}
}

func (o *orchestrator) drop(s *scope, then func()) {
	uid := s.js.uid
	o.store(s, func(v *server) (coordination.Summary, error) {
		if err := v.drop(uid, o.token); err != nil {
			return coordination.Summary{}, err
		}
		return coordination.Summary{}, coordination.ErrNoGroup
	}, then)
}

// annotate is one compare-and-set on the JobSet as this look has read it.
func (o *orchestrator) annotate(s *scope, change func(*jobSet)) {
	ask(&o.process, o.random, func() error {
		if o.mutant.BlindWrites && o.api.current != nil && o.api.current.uid == s.js.uid {
			return o.api.update(*o.api.current, o.name, change)
		}
		return o.api.update(s.js, o.name, change)
	}, func(err error) {
		if err != nil {
			o.losses = append(o.losses, s.losses...)
			o.finish(20 * time.Millisecond)
			return
		}
		change(&s.js)
		s.js.version++
		o.decide(s)
	})
}

// settle does what follows from a group that is as it should be, and plans the next look.
func (o *orchestrator) settle(s *scope) {
	o.deleteStale(s)
	o.repair(s, func() {
		next := o.random.between(resyncEvery/2, resyncEvery*3/2)
		if o.round != (started{}) {
			next = min(next, max(time.Millisecond, o.round.at+o.shape.Timeout-o.now+time.Millisecond), o.lookAgain())
		}
		o.finish(next)
	})
}

// deleteStale deletes the Jobs that a fail-over has left behind.
func (o *orchestrator) deleteStale(s *scope) {
	for _, j := range slices.Clone(o.jobs) {
		if j.owner == s.js.uid && s.js.epoch.Stale(j.epoch) && o.survives() {
			j.remove(o.name, stale)
		}
	}
}

func (o *orchestrator) deleteAll(s *scope) {
	for _, j := range slices.Clone(o.jobs) {
		if j.owner == s.js.uid {
			j.remove(o.name, stale)
		}
	}
}
