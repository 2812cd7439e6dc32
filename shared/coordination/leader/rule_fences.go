package leader

import (
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/leader/workload"
)

const (
	// fencesEvery is how long a restart waits for slots before their pods are checked against the fences, and the interval between
	// later checks. Checks are limited because each of them reads every slot from the store. They are less frequent while a group
	// is forming, because its pods may take hours to arrive.
	fencesEvery        = 5 * time.Second
	fencesEveryForming = 20 * time.Second
)

// deleteFenced deletes pods that were released from their slots but are still the only pods of these slots. The store rejects
// their reports, so the group would wait for them forever.
func (p *planner) deleteFenced() {
	waits := p.current() && (p.group.Phase == coordination.Forming || p.group.Phase == coordination.Restarting)
	if !waits || p.group.Joined >= p.group.Size {
		p.memory.fencesChecked = time.Time{}
		return
	}
	every := fencesEveryForming
	if p.group.Phase == coordination.Restarting {
		every = fencesEvery
		p.resyncIn(fencesEvery)
	}
	checked := &p.memory.fencesChecked
	if checked.IsZero() { // the first check is due one period from now
		*checked = p.Began.Add(-time.Nanosecond)
		return
	}
	if !p.due(checked, every) {
		return
	}
	missing, known := p.missing(p.awaited()...)
	if !known {
		return
	}
	var alone []victim
	for _, slot := range missing {
		s := p.ladderSlot(slot)
		if s.Pod == nil || s.Job == nil || s.Job.Deleting || s.Pod.Job != s.Job.UID || !s.Pod.Lives() || !p.group.IsFenced(s.Pod.UID) {
			continue
		}
		if !p.tried(DeleteJob{Job: s.Job}) { // deleting a Job also deletes its pods
			alone = append(alone, victim{slot: slot, pod: s.Pod, why: Fenced})
		}
	}
	p.remove(alone, ForFence, func(_ victim, live *workload.Pod) bool { return live.Lives() })
}
