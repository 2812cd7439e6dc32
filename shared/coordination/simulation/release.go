package simulation

import (
	"slices"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
)

const (
	// holdersLook is how often the store is asked at most who holds the slots that are waited for.
	holdersLook = time.Second
	// fenceLook is how long a restart waits for its slots before their pods are held against the fence, and how often then.
	fenceLook = 5 * time.Second
)

// freeSlots releases slots that a pod holds which is gone, so that the pod that is there now can join. While all run it looks at all slots:
// a pod may have gone and come while nobody led.
func (o *orchestrator) freeSlots(s *scope, then func()) {
	every, ask := holdersLook, o.askWhoWaits
	if o.runs(s) {
		every, ask = resyncEvery/2, o.askWhoHolds
	} else if !o.waitsForSlots(s) {
		then()
		return
	}
	if o.freed != 0 && o.now < o.freed+every {
		then()
		return
	}
	o.freed = o.now
	ask(s, func(w waiting) {
		var gone []rounds.Slot
		for _, slot := range w.slots {
			holder, p := w.holders[slot], o.podOf(s.js.uid, slot)
			if holder != "" && p != nil && p.uid != holder && !p.deleting && !p.ended() && !o.exists(holder) {
				gone = append(gone, rounds.Slot{Name: slot, Pod: holder})
			}
		}
		o.freeAll(s, gone, then)
	}, then)
}

func (o *orchestrator) freeAll(s *scope, gone []rounds.Slot, then func()) {
	if len(gone) == 0 || !o.runs(s) && !o.waitsForSlots(s) {
		then()
		return
	}
	o.releasePod(s, gone[0], lostPod, func() { o.freeAll(s, gone[1:], then) })
}

// exists tells whether the API server has a pod that may run.
func (w *world) exists(uid string) bool {
	return slices.ContainsFunc(w.pods, func(p *pod) bool { return p.uid == uid && !p.gone && !p.told })
}

// askWhoWaits asks the store for the slots that the round waits for, and who holds them; without an answer it goes on with then.
func (o *orchestrator) askWhoWaits(s *scope, do func(waiting), then func()) {
	o.askFor(func(v *server) waiting { return v.waiting(s.js.uid) }, do, then)
}

// askWhoHolds asks the store who holds any of the slots.
func (o *orchestrator) askWhoHolds(s *scope, do func(waiting), then func()) {
	o.askFor(func(v *server) waiting { return waiting{o.slots, v.holders(s.js.uid, o.slots), nil} }, do, then)
}

func (o *orchestrator) askFor(serve func(*server) waiting, do func(waiting), then func()) {
	request(o.link, func(v *server) (waiting, error) { return serve(v), nil }, func(w waiting, err error) {
		switch {
		case err == nil && o.survives():
			do(w)
		case o.up:
			then()
		}
	})
}

// deleteAllFenced deletes pods that were released from their slots though nobody else is there for them, and those that were early for
// their epoch. While a group forms it looks when it looks anyway.
func (o *orchestrator) deleteAllFenced(s *scope, then func()) {
	if !o.waitsForSlots(s) {
		o.fenceDue = 0
		then()
		return
	}
	every := resyncEvery
	if s.group.Phase == coordination.Restarting {
		every = fenceLook
	}
	if o.fenceDue == 0 {
		o.fenceDue = o.now + every
	}
	if o.now < o.fenceDue {
		then()
		return
	}
	o.fenceDue = o.now + every
	o.askWhoWaits(s, func(w waiting) {
		o.deleteFenced(s, w)
		if o.up {
			then()
		}
	}, then)
}

// runs: all workers of this epoch are in sync.
func (o *orchestrator) runs(s *scope) bool {
	return s.wanted != nil && !s.wanted.Suspended && s.group != nil && s.group.Generation == int64(s.js.epoch.Epoch) && s.group.Phase == coordination.Running
}

func (o *orchestrator) waitsForSlots(s *scope) bool {
	if s.wanted == nil || s.wanted.Suspended || s.group == nil || s.group.Generation != int64(s.js.epoch.Epoch) {
		return false
	}
	waits := s.group.Phase == coordination.Forming || s.group.Phase == coordination.Restarting
	return waits && s.group.Joined < s.group.Size
}

func (o *orchestrator) deleteFenced(s *scope, w waiting) {
	for _, slot := range w.slots {
		p := o.podOf(s.js.uid, slot)
		if p != nil && slices.Contains(w.fenced, p.uid) && !p.deleting && !p.ended() && !p.job.deleting && !s.js.epoch.Stale(p.job.epoch) {
			o.note(o.name, "deletes %s, which is fenced and alone", p.uid)
			o.deletePod(p)
		}
	}
}
