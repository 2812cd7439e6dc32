package simulation

import (
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination"
)

// fenceLook is how long a restart waits for its slots before their pods are held against the fence, and how often then.
const fenceLook = 5 * time.Second

// release deletes pods that the store listens to no more though nobody else is there for their slots: the elder of two when the
// younger one has gone, and those that were early for their epoch. While a group forms it looks when it looks anyway.
func (o *orchestrator) release(s *scope, then func()) {
	if !o.waitsForSlots(s) {
		o.fenceDue = 0
		then()
		return
	}
	every := resyncEvery
	if s.group.Phase == coordination.Restarting {
		every = fenceLook
	}
	switch {
	case o.fenceDue == 0:
		o.fenceDue = o.now + every
		fallthrough
	case o.now < o.fenceDue:
		then()
		return
	}
	o.fenceDue = o.now + every
	request(o.link, func(v *server) ([]string, error) { return v.shutOut(s.js.uid) }, func(slots []string, err error) {
		if err == nil && o.survives() {
			o.deleteFenced(s, slots)
		}
		if o.up {
			then()
		}
	})
}

func (o *orchestrator) waitsForSlots(s *scope) bool {
	if s.wanted == nil || s.wanted.Suspended || s.group == nil || s.group.Epoch != int64(s.js.epoch.Epoch) {
		return false
	}
	waits := s.group.Phase == coordination.Forming || s.group.Phase == coordination.Restarting
	return waits && s.group.Joined < s.group.Size
}

func (o *orchestrator) deleteFenced(s *scope, slots []string) {
	for _, slot := range slots {
		if p := o.podOf(s.js.uid, slot); p != nil && !p.deleting && !p.ended() && !p.job.deleting && !s.js.epoch.Stale(p.job.epoch) {
			o.note(o.name, "deletes %s, which is fenced and alone", p.uid)
			o.deletePod(p)
		}
	}
}

// shutOut are the slots that have not joined and whose newest pod may not. The leader asks for the two in two calls.
func (s *server) shutOut(uid string) ([]string, error) {
	missing, err := s.missing(uid)
	if err != nil {
		return nil, err
	}
	var slots []string
	for _, slot := range missing {
		if p := s.podOf(uid, slot); p != nil && s.view(uid).Fenced[p.uid] {
			slots = append(slots, slot)
		}
	}
	return slots, nil
}
