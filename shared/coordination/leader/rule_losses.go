package leader

import (
	"slices"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/leader/workload"
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

// confirmLead ends a reconcile of a leader that was replaced, where no write of the group would have.
func (p *planner) confirmLead() {
	if p.wanted != nil && p.Stored != nil && p.Token.Less(p.Stored.Config.Token) {
		p.plan.Err = coordination.ErrStaleLeader
	}
}
