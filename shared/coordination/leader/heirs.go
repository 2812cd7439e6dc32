package leader

import (
	"cmp"
	"slices"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/leader/workload"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
)

// collectFor is how long agents may take to join again after the store has lost the group. Until then, a pod whose annotation was not written
// may work in a slot that seems to be vacant.
const collectFor = 5 * time.Second

// gives reports whether slots may be given to spares: workers wait at the barrier, and the group needs all of them now.
func (p *planner) gives() bool {
	return p.wanted != nil && p.wanted.Barrier && p.replaces() && !p.collects()
}

// collects reports whether the store has lost the group, and agents may need more time to join again. A group without spares does not wait for that.
func (p *planner) collects() bool {
	lost := p.memory.recoveredAt // the round of the recovery may be over
	if p.clock != nil && p.group.Record.Cause.Kind == coordination.KindRecovery && p.clock.Start.After(lost) {
		lost = p.clock.Start
	}
	wait := collectFor - p.now.Sub(lost)
	if wait <= 0 || len(p.spares()) == 0 {
		return false
	}
	p.resyncIn(wait)
	return true
}

// spares returns the pods that wait for a slot, oldest first. It computes them on the first call.
func (p *planner) spares() []*workload.Pod {
	if p.waiting == nil {
		p.waiting = []*workload.Pod{}
		for _, pod := range p.Pods {
			if p.worksIn(pod) == "" && p.isIdle(pod) {
				p.waiting = append(p.waiting, pod)
			}
		}
		slices.SortFunc(p.waiting, func(a, b *workload.Pod) int { return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.Name, b.Name)) })
	}
	return p.waiting
}

// isIdle reports whether a pod without a slot can be given one.
func (p *planner) isIdle(pod *workload.Pod) bool {
	runs := pod.Phase == workload.Running && !pod.Deleting && !slices.ContainsFunc(pod.Containers, func(c workload.Container) bool { return !c.Running })
	return runs && pod.Generation == p.Owner.Epoch.Epoch && !p.group.IsFenced(pod.UID) && p.knownSlot(pod) == ""
}

// spareFor returns the pod that gets a slot: the slot's own pod if it waits, otherwise the oldest spare that is not on the node of the lost pod. It
// returns zero if there is none.
func (p *planner) spareFor(slot, node string) rounds.Slot {
	var best *workload.Pod
	for _, pod := range p.spares() {
		switch {
		case p.heirs[pod.UID] || rounds.StageOf(pod.Slot) != rounds.StageOf(slot):
		case pod.Slot == slot:
			best = pod
		case best == nil && pod.Node != node:
			best = pod
		}
	}
	if best == nil {
		return rounds.Slot{}
	}
	p.take(best)
	return rounds.Slot{Name: best.Slot, Pod: best.UID}
}

// take notes that a pod gets a slot in this plan.
func (p *planner) take(pod *workload.Pod) {
	if p.heirs == nil {
		p.heirs = map[string]bool{}
	}
	p.heirs[pod.UID] = true
}

// heirOf returns the pod that gets the slot of a lost pod, or zero if another pod may still run in that slot.
func (p *planner) heirOf(lost *workload.Pod) rounds.Slot {
	if !p.gives() || len(p.spares()) == 0 {
		return rounds.Slot{}
	}
	slot := p.worksIn(lost)
	others := slices.DeleteFunc(p.runningIn(slot), func(pod *workload.Pod) bool { return pod.UID == lost.UID })
	if !p.needed(slot) || workload.StateOf(others) != workload.Vacant {
		return rounds.Slot{}
	}
	return p.spareFor(slot, lost.Node)
}

// needed reports whether the step of a slot has entered and its Job has not finished with the slot.
func (p *planner) needed(slot string) bool {
	name, index := workload.JobOf(slot)
	job := p.job(name)
	if job == nil || !job.Current || job.Completed.Has(index) || job.Failed.Has(index) {
		return false
	}
	return slices.ContainsFunc(p.group.Stages, func(s coordination.Stage) bool { return s.Has(slot) && p.group.HasEntered(s) })
}

// give gives a slot to the heir, after it has released a pod from it, if there is one.
func (p *planner) give(slot, pod string, heir rounds.Slot) {
	unit, _ := p.group.UnitOf(slot)
	p.do(Release{Unit: unit, Slot: rounds.Slot{Name: slot, Pod: pod}, For: slot, Heir: heir})
}

// giveToHolder reports whether a pod that may run holds a slot in which it does not work according to the leader. If it works in no other slot, the
// store has lost that the pod was given this one, and the leader gives it again.
func (p *planner) giveToHolder(slot string) bool {
	holder := p.Reads.Holders[slot]
	pod := p.podOf(holder)
	if pod == nil || !pod.MayRun() {
		return false
	}
	if p.worksIn(pod) == "" && pod.Lives() {
		p.take(pod)
		p.give(slot, "", rounds.Slot{Name: pod.Slot, Pod: pod.UID})
	}
	return true
}
