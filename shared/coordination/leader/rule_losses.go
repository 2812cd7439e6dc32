package leader

import (
	"slices"

	"github.com/holdfast-project/holdfast/shared/coordination"
)

// releaseLost releases lost pods from their slots. If the agent has already reported the death, the release has no effect. Pods
// that end because the owner is suspended, finished or recreated are not lost. If the store has lost the fences of pods, they are
// released again.
func (p *planner) releaseLost() {
	if p.wanted == nil || p.wanted.Suspended || p.group == nil {
		return
	}
	for _, lost := range p.Lost {
		finished := slices.Contains(p.wanted.Finished, lost.Pod.Slot) && !lost.Pod.Lost()
		if lost.Gap && !finished && !p.Owner.Epoch.Stale(lost.Pod.Generation) {
			slot := p.slotOf(lost.Pod)
			p.releasedFor(slot.Name, slot, lost.Pod.Name, p.heirOf(lost.Pod))
		}
	}
	p.memory.seen.give(p.group.Generation, p.group.Given)
	for _, slot := range p.memory.seen.in(p.group.Generation).released {
		p.released(slot, "")
	}
}

// confirmLead ends the reconcile if the leader has been replaced and no earlier write to the group has failed for that reason.
func (p *planner) confirmLead() {
	if p.wanted != nil && p.Stored != nil && p.Token.Less(p.Stored.Config.Token) {
		p.plan.Err = coordination.ErrStaleLeader
	}
}
