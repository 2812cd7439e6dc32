package simulation

import (
	"slices"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
)

// Why a pod is released: it was lost, it is about to be deleted because its slot holds a round up, or the store has lost its fence.
const (
	lostPod = "the release of a lost pod"
	repair  = "the release to repair"
	again   = "the release once more"
)

// repair tries for the slots that hold a round up what is cheaper than to recreate the group: a simpler ladder than that
// of the orchestrator, on the same three moments.
//
//	at once            a pod that has Succeeded in the middle of a round: its Job
//	after a third      a pod whose worker waits too long, or has not joined: the pod
//	after two thirds   a slot that still has not joined: its Job, if that is less than the group
func (o *orchestrator) repair(s *scope, then func()) {
	if s.group == nil || s.group.Phase != coordination.Restarting || o.round == (started{}) || (len(s.losses) == 0 && !o.past(1)) {
		then()
		return
	}
	request(o.link, func(v *server) ([]string, error) { return v.missing(s.js.uid), nil }, func(missing []string, err error) {
		if err == nil && o.survives() {
			o.repairAll(s, missing)
		}
		if o.up {
			then()
		}
	})
}

// past tells whether so many thirds of the time are over.
func (o *orchestrator) past(thirds time.Duration) bool {
	return o.round != (started{}) && o.now-o.round.at >= thirds*o.shape.Timeout/3
}

func (o *orchestrator) lookAgain() time.Duration {
	if !o.past(1) {
		return o.round.at + o.shape.Timeout/3 - o.now + time.Millisecond
	}
	return o.shape.Timeout / 12
}

func (o *orchestrator) repairAll(s *scope, missing []string) {
	for _, slot := range missing {
		p := o.podOf(s.js.uid, slot)
		switch {
		case p == nil || p.job.deleting:
		case p.phase == podSucceeded:
			o.note(o.name, "%s has Succeeded in the middle of a round", p.uid)
			o.releaseAndRemove(s, p.job)
		case p.deleting || p.ended() || !o.past(1) || 2*len(missing) > int(s.group.Size) || p.created >= o.round.at:
		case o.past(2) && int64(len(p.job.seats)) < s.group.Size:
			o.releaseAndRemove(s, p.job)
		case o.past(2) || p.waiting:
			o.releaseAndDelete(s, p)
		}
	}
}

// podOf is the newest pod of a slot that the API server has, or nil.
func (w *world) podOf(uid, slot string) *pod {
	var newest *pod
	for _, p := range w.pods {
		if p.slot == slot && p.job.owner == uid && !p.gone {
			newest = p
		}
	}
	return newest
}

// releaseAndDelete comes in this order, so that a worker that exits 0 when it is stopped is not taken for finished.
func (o *orchestrator) releaseAndDelete(s *scope, p *pod) {
	p.note(o.name, "releases and deletes %s", p.uid)
	request(o.link, func(v *server) (*rounds.Stored, error) {
		return v.release(s.js.uid, o.token, p.asSlot(), repair)
	}, func(stored *rounds.Stored, err error) {
		if err == nil && stored != nil && stored.State.Restarting() && o.survives() {
			o.deletePod(p)
		}
	})
}

// releaseAndRemove does the same for all pods of a Job; the JobSet controller makes it again.
func (o *orchestrator) releaseAndRemove(s *scope, j *job) {
	pods := slices.DeleteFunc(slices.Clone(o.pods), func(p *pod) bool { return p.job != j })
	request(o.link, func(v *server) (stored *rounds.Stored, err error) {
		for _, p := range pods {
			if stored, err = v.release(s.js.uid, o.token, p.asSlot(), repair); err != nil {
				return nil, err
			}
		}
		return stored, nil
	}, func(stored *rounds.Stored, err error) {
		if err == nil && stored != nil && stored.State.Restarting() && o.survives() {
			j.remove(o.name, "to bring a slot back")
		}
	})
}
