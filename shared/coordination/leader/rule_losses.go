package leader

import (
	"slices"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/leader/workload"
)

// releaseLost releases lost pods from their slots. If the agent was able to report the death itself, the release changes nothing.
// Pods that end because the owner is suspended, finished or recreated are not lost. Pods whose fences the store has lost are
// released again.
func (p *planner) releaseLost() {
	if p.wanted == nil || p.wanted.Suspended || p.group == nil {
		return
	}
	for _, lost := range p.Lost {
		if lost.Gap && !p.expected(lost.Pod) {
			p.releaseTo(p.heirOf(lost.Pod), p.slotOf(lost.Pod), lost.Pod.Name)
		}
	}
	p.memory.given.note(p.group.Generation, p.group.Given)
	for _, slot := range p.memory.released.in(p.group.Generation) {
		p.released(slot, "")
	}
}

// expected reports whether the end of a pod was expected: its Job belongs to an earlier epoch, or its worker had finished.
func (p *planner) expected(pod *workload.Pod) bool {
	finished := slices.Contains(p.wanted.Finished, pod.Slot) && !pod.Lost()
	return finished || p.Owner.Epoch.Stale(pod.Generation)
}

// confirmLead ends the reconcile of a leader that was replaced, if no write of the group has done so.
func (p *planner) confirmLead() {
	if p.wanted != nil && p.Stored != nil && p.Token.Less(p.Stored.Config.Token) {
		p.plan.Err = coordination.ErrStaleLeader
	}
}
