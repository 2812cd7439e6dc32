package simulation

import (
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
)

// vacancy is a slot that has lost its pod, as the leader has seen it.
type vacancy struct {
	job    *job
	slot   string
	lost   *pod          // the youngest that the API server still has, or nil
	seenAt time.Duration // by a read past the cache
}

// pace is how often a leader has made pods for a slot in a round.
type pace struct {
	round rendezvous
	made  int
	due   time.Duration
}

// replace makes the pods of slots that have lost theirs, as jobset-controller/internal/orchestrator does: a look at the cache, a
// read past it, the eviction, the pod under a name that another leader would give it too, and a look whether the Job controller
// was as quick.
func (o *orchestrator) replace(s *scope, then func()) {
	if !o.replaces(s) {
		then()
		return
	}
	o.fillAll(s, o.vacancies(s), then)
}

func (o *orchestrator) replaces(s *scope) bool {
	if s.wanted == nil || s.wanted.Suspended || s.group == nil || s.group.Generation != int64(s.js.epoch.Epoch) {
		return false
	}
	return s.group.Phase == coordination.Running || s.group.Phase == coordination.Restarting
}

// vacancies are the slots of entered steps without a pod of which anything may run, as the cache has it.
func (o *orchestrator) vacancies(s *scope) []vacancy {
	var list []vacancy
	for _, j := range o.controller.current(s.js) {
		if !s.group.HasEntered(j.entry.stage()) || j.suspended || j.failed || !j.made {
			continue
		}
		for _, seat := range j.seats {
			if !seat.completed && (o.vacated[seat.slot] || o.vacant(j.owner, seat.slot)) {
				list = append(list, vacancy{job: j, slot: seat.slot})
			}
		}
	}
	return list
}

// sawPod lets a new pod reach the informer, late. Until then the slot is vacant to this process, if it has seen the loss.
func (o *orchestrator) sawPod(slot string) {
	lag := o.lags.between(time.Millisecond, 50*time.Millisecond) + max(0, o.stale-o.now)
	o.later(lag, func() { delete(o.vacated, slot) })
}

// vacant tells what the API server shows: no pod that it has may run, or will.
func (o *orchestrator) vacant(uid, slot string) bool {
	return !slices.ContainsFunc(o.pods, func(p *pod) bool {
		if p.slot != slot || p.job.owner != uid || p.gone {
			return false
		}
		return !p.told && !(o.mutant.Hasty && p.deleting)
	})
}

// fillAll does one slot after the other.
func (o *orchestrator) fillAll(s *scope, list []vacancy, then func()) {
	if len(list) == 0 || !o.replaces(s) {
		then()
		return
	}
	v, next := list[0], func() { o.fillAll(s, list[1:], then) }
	if o.paceOf(s, v.slot).due > o.now {
		next()
		return
	}
	confirmed := false
	ask(&o.process, o.random, func() error {
		v.seenAt, v.lost = o.now, o.lostPod(v)
		confirmed = o.mutant.Blind || (o.vacant(v.job.owner, v.slot) && v.job.takesPods())
		return nil
	}, func(error) {
		if !confirmed {
			next()
			return
		}
		o.fenceAndFill(s, v, next)
	})
}

// takesPods is what a Job says that is read past the cache.
func (j *job) takesPods() bool { return !j.gone && !j.deleting && !j.suspended && !j.failed }

func (o *orchestrator) lostPod(v vacancy) *pod {
	var youngest *pod
	for _, p := range o.pods {
		if p.slot == v.slot && p.job.owner == v.job.owner && !p.gone {
			youngest = p
		}
	}
	return youngest
}

// fenceAndFill: the store refuses a leader that has been replaced.
func (o *orchestrator) fenceAndFill(s *scope, v vacancy, next func()) {
	uid := "nobody"
	fence := func(then func()) {
		o.store(s, func(server *server) (*rounds.Stored, error) { return server.confirmLead(s.js.uid, o.token) }, then)
	}
	if v.lost != nil {
		uid = v.lost.uid
		fence = func(then func()) { o.releasePod(s, v.lost.asSlot(), lostPod, then) }
	}
	fence(func() {
		if !o.replaces(s) || !o.survives() {
			next()
			return
		}
		round := rendezvous{s.group.Generation, s.group.Round}
		o.paced(round, v.slot)
		o.create(v, fmt.Sprintf("%s %d.%d after %s", v.slot, round.generation, round.round, uid), next)
	})
}

func (o *orchestrator) create(v vacancy, name string, next func()) {
	var made *pod
	ask(&o.process, o.random, func() error {
		made = o.replacePod(o.name, v, name)
		return nil
	}, func(error) {
		if made == nil {
			next()
			return
		}
		o.giveWay(v, made, next)
	})
}

// replacePod runs at the API server. A name that is taken is refused; a Job that is gone takes its pods with it.
func (w *world) replacePod(who string, v vacancy, name string) *pod {
	taken := slices.ContainsFunc(w.pods, func(p *pod) bool { return p.name == name && !p.gone })
	if taken || v.job.gone {
		return nil
	}
	w.truth.replacing(who, v)
	p := w.createPod(v.job, v.slot)
	p.name = name
	w.note(who, "makes %s in place of a lost one", p.uid)
	v.job.kick()
	return p
}

// giveWay deletes the new pod if the Job controller made one at the same time.
func (o *orchestrator) giveWay(v vacancy, made *pod, next func()) {
	twin := false
	ask(&o.process, o.random, func() error {
		twin = slices.ContainsFunc(o.pods, func(p *pod) bool {
			return p != made && p.slot == v.slot && p.job.owner == v.job.owner && !p.gone && !p.told && !p.deleting
		})
		return nil
	}, func(error) {
		if twin && o.survives() {
			o.note(o.name, "gives way to the Job controller")
			o.deletePod(made)
		}
		next()
	})
}

func (o *orchestrator) paceOf(s *scope, slot string) pace {
	p := o.paces[slot]
	if p.round != (rendezvous{s.group.Generation, s.group.Round}) {
		return pace{}
	}
	return p
}

// paced notes that a pod is made: the next one of the round comes after 1 s, 2 s, 4 s, at most 30 s.
func (o *orchestrator) paced(round rendezvous, slot string) {
	if o.paces == nil {
		o.paces = map[string]pace{}
	}
	p := o.paces[slot]
	if p.round != round {
		p = pace{round: round}
	}
	p.due = o.now + min(time.Second<<min(p.made, 5), 30*time.Second)
	p.made++
	o.paces[slot] = p
}

// dueAgain is when a slot that got a pod is looked at again.
func (o *orchestrator) dueAgain() (in time.Duration, ok bool) {
	for _, slot := range o.slots {
		if p, known := o.paces[slot]; known && p.due > o.now && (!ok || p.due-o.now < in) {
			in, ok = p.due-o.now, true
		}
	}
	return in, ok
}
