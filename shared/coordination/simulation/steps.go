package simulation

import (
	"slices"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
	leader "github.com/holdfast-project/holdfast/shared/coordination/simulation/decide"
)

// apply does one step and goes on with the next.
func (o *orchestrator) apply(s *scope, step leader.Step) {
	uid, again := s.js.uid, func() { o.decide(s) }
	switch step.Kind {
	case leader.Drop:
		o.drop(s, again)
	case leader.WriteGroup:
		o.note(o.name, "writes the group: %s", step.Write.Reason)
		o.store(s, func(v *server) (*rounds.Stored, error) { return v.write(uid, step.Write) }, again)
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
	o.store(s, func(v *server) (*rounds.Stored, error) {
		v.drop(uid)
		return nil, nil
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
		s.wanted = o.want(s.js) // of another epoch, other Jobs are the current ones
		o.decide(s)
	})
}

// settle does what follows from a group that is as it should be, and plans the next look.
func (o *orchestrator) settle(s *scope) {
	o.deleteStale(s)
	o.freeSlots(s, func() {
		o.replace(s, func() { o.repair(s, func() { o.deleteAllFenced(s, func() { o.writeCondition(s, o.rest) }) }) })
	})
}

// writeCondition says whether the group has still to form; nothing is said of a group that has ended.
func (o *orchestrator) writeCondition(s *scope, then func()) {
	if s.wanted == nil || s.group == nil || s.js.formed == (s.group.Phase != coordination.Forming) {
		then()
		return
	}
	ask(&o.process, o.random, func() error {
		return o.api.update(s.js, o.name, func(js *jobSet) { js.formed = s.group.Phase != coordination.Forming })
	}, func(error) { then() })
}

// rest plans the next look.
func (o *orchestrator) rest() {
	next := o.random.between(resyncEvery/2, resyncEvery*3/2)
	if o.round != (started{}) {
		next = min(next, max(time.Millisecond, o.round.at+o.shape.Timeout-o.now+time.Millisecond), o.lookAgain())
	}
	if due, ok := o.dueAgain(); ok {
		next = min(next, due)
	}
	if o.fenceDue > o.now && o.round != (started{}) {
		next = min(next, o.fenceDue-o.now)
	}
	o.finish(next)
}

// deleteStale deletes the Jobs that a fail-over has left behind.
func (o *orchestrator) deleteStale(s *scope) {
	for _, j := range slices.Clone(o.jobs) {
		mine := j.owner == s.js.uid || o.mutant.AnyOwner
		if mine && s.js.epoch.Stale(j.epoch) && o.survives() {
			o.deleteJob(s, j)
		}
	}
}

func (o *orchestrator) deleteAll(s *scope) {
	for _, j := range slices.Clone(o.jobs) {
		if j.owner == s.js.uid {
			o.deleteJob(s, j)
		}
	}
}

func (o *orchestrator) deleteJob(s *scope, j *job) {
	o.truth.leftBehind(s.js.uid, j)
	j.remove(o.name, "left behind by a fail-over")
}
