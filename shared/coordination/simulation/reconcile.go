package simulation

import (
	"errors"
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
	return &leader.Wanted{Stages: o.shape.stages(), Suspended: js.suspended, Done: o.finishedSlots(js), MaxDelay: 32 * time.Second}
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
