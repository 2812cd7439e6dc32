package leader

import (
	"slices"

	"github.com/holdfast-project/holdfast/shared/coordination/leader/workload"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
)

// releaseLost takes pods that are lost out of their slots. An agent that could speak has reported the death itself; then nothing
// changes. Pods that go because the owner is suspended, finished or recreated are no losses. Pods whose fences the store has lost are
// released again.
func (p *planner) releaseLost() {
	if p.wanted == nil || p.wanted.Suspended || p.group == nil {
		return
	}
	for _, lost := range p.Lost {
		if lost.Gap && !p.expected(lost.Pod) {
			p.released(slotOf(lost.Pod), lost.Pod.Name)
		}
	}
	for _, slot := range p.memory.released.in(p.group.Generation) {
		p.released(slot, "")
	}
}

// expected reports whether a pod had to go: with the Jobs of an earlier epoch, or after its worker had finished.
func (p *planner) expected(pod *workload.Pod) bool {
	finished := slices.Contains(p.wanted.Finished, pod.Slot) && !pod.Lost()
	return finished || p.Owner.Epoch.Stale(pod.Generation)
}

// released reports whether the group listens to a pod no more. If it does, the pod is taken out of its slot; what follows is for the next plan.
func (p *planner) released(slot rounds.Slot, name string) bool {
	unit, found := p.group.UnitOf(slot.Name)
	if !found || p.group.Units[unit].Left || p.group.IsFenced(slot.Pod) {
		return true
	}
	p.do(Release{unit, slot, name})
	return false
}

func slotOf(pod *workload.Pod) rounds.Slot { return rounds.Slot{Name: pod.Slot, Pod: pod.UID} }

// confirmLead ends a reconcile of a leader that was replaced, where no write of the group would have.
func (p *planner) confirmLead() {
	if p.wanted != nil && p.Stored != nil && p.Token.Less(p.Stored.Config.Token) {
		p.plan.Err = errStale
	}
}
