package simulation

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/group"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
	leader "github.com/holdfast-project/holdfast/shared/coordination/simulation/decide"
)

// scope is what one look of the leader has observed; steps bring it up to date.
type scope struct {
	js      jobSet
	wanted  *leader.Wanted
	stored  *rounds.Stored // nil: the store holds no group that can be read
	group   *group.Summary // of it
	foreign bool           // what the store holds cannot be read
	losses  []loss
	steps   int
}

const maxSteps = 8

// reconcile observes, releases lost pods, and then takes one step after the other.
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
	o.store(s, func(v *server) (*rounds.Stored, error) { return v.group(s.js.uid) }, func() {
		s.losses, o.losses = o.losses, nil
		o.releaseLost(s, s.losses)
	})
}

// want is the group that the JobSet asks for.
func (o *orchestrator) want(js jobSet) *leader.Wanted {
	if js.finished() || js.deleted {
		return nil
	}
	barrier := !slices.ContainsFunc(o.shape.Entries, func(e Entry) bool { return e.Driver == CRI })
	return &leader.Wanted{
		Stages: o.shape.stages(), Suspended: js.suspended, Barrier: barrier, Finished: o.finishedSlots(js), MaxPause: 32 * time.Second,
		Entered: o.entered(js), Fenced: o.releasedIn(int64(js.epoch.Epoch)),
	}
}

// entered is how many steps have run in this generation, for a store that has lost the group: those whose Jobs exist, unless the
// condition says that the first one has still to form.
func (o *orchestrator) entered(js jobSet) int64 {
	var steps int64
	for _, j := range o.controller.current(js) {
		if js.formed {
			steps = max(steps, j.entry.Step+1)
		}
	}
	return steps
}

// finishedSlots are the completed indexes of the current Jobs. A restart by the failure policy has written its epoch before it counts, and
// with it the Jobs are those of the attempt before.
func (o *orchestrator) finishedSlots(js jobSet) []string {
	var done []string
	if o.controller.begun(js) {
		return nil
	}
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
func (o *orchestrator) store(s *scope, serve func(*server) (*rounds.Stored, error), then func()) {
	if !o.survives() {
		return
	}
	request(o.link, serve, func(stored *rounds.Stored, err error) {
		if !o.survives() {
			return
		}
		switch {
		case err == nil || errors.Is(err, coordination.ErrForeignValue):
			s.stored, s.group, s.foreign = stored, nil, err != nil
			if stored != nil {
				g := group.Summarize(stored)
				s.group = &g
			}
			o.keepClock(s)
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
	if s.group == nil || s.group.Phase != coordination.Restarting {
		o.round = started{}
		return
	}
	now := started{s.js.uid, s.group.Generation, s.group.Round, o.now}
	same := o.round
	same.at = now.at
	if same != now {
		o.round = now
	}
}

// releaseLost takes one lost pod after the other out of its slot, then those whose fences the store has lost. Pods that had to go leave no gap.
func (o *orchestrator) releaseLost(s *scope, losses []loss) {
	for len(losses) > 0 {
		lost := losses[0]
		losses = losses[1:]
		if lost.pod.job.owner != s.js.uid || s.wanted == nil || s.wanted.Suspended || s.group == nil {
			continue
		}
		finished := slices.Contains(s.wanted.Finished, lost.pod.slot) && !lost.gap
		if !lost.gap || finished || s.js.epoch.Stale(lost.pod.job.epoch) {
			continue
		}
		o.releasePod(s, lost.pod.asSlot(), lostPod, func() { o.releaseLost(s, losses) })
		return
	}
	o.releaseAgain(s, o.releasedIn(int64(s.js.epoch.Epoch)))
}

func (o *orchestrator) releaseAgain(s *scope, pods []string) {
	if len(pods) == 0 || s.wanted == nil || s.group == nil {
		o.decide(s)
		return
	}
	slot, rest := rounds.Slot{Name: o.released[pods[0]].slot, Pod: pods[0]}, pods[1:]
	if s.group.IsFenced(slot.Pod) {
		o.releaseAgain(s, rest)
		return
	}
	o.releasePod(s, slot, again, func() { o.releaseAgain(s, rest) })
}

func (o *orchestrator) releasePod(s *scope, slot rounds.Slot, why string, then func()) {
	if _, counted := s.group.UnitOf(slot.Name); !counted || s.group.IsFenced(slot.Pod) {
		then()
		return
	}
	o.note(o.name, "releases %s", slot.Pod)
	generation := s.group.Generation
	o.store(s, func(v *server) (*rounds.Stored, error) { return v.release(s.js.uid, o.token, slot, why) }, func() {
		o.released[slot.Pod] = release{slot.Name, generation}
		then()
	})
}

func (o *orchestrator) releasedIn(generation int64) []string {
	var pods []string
	for _, pod := range slices.Sorted(maps.Keys(o.released)) {
		if o.released[pod].generation == generation {
			pods = append(pods, pod)
		}
	}
	return pods
}

func (o *orchestrator) input(s *scope) leader.Input {
	in := leader.Input{
		Wanted: s.wanted, Stored: s.stored, Foreign: s.foreign, Epoch: s.js.epoch, Charged: s.js.charged, Counted: s.js.counted,
		Budget: o.budget(), Overdue: o.round != (started{}) && o.now-o.round.at >= o.shape.Timeout, Token: o.token,
		Incarnation: fmt.Sprint("i", o.serialOf()),
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
	step, err := next(o.input(s))
	if err != nil {
		panic(err) // the shapes have few stages
	}
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
