package leader

import (
	"cmp"
	"slices"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/leader/workload"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
)

// collectFor is how long agents may take to rejoin after the store has lost the group. Until then, a slot that appears to be vacant may be
// held by a pod that has not been annotated with its slot.
const collectFor = 5 * time.Second

// gives reports whether slots may be assigned to spares, which requires a barrier at which workers wait and a group that
// currently needs all of its workers.
func (p *planner) gives() bool {
	return p.wanted != nil && p.wanted.Barrier && p.replaces() && !p.collects()
}

// collects reports whether the store has lost the group and agents may still be rejoining. It returns false for a group without spares, which does
// not need to wait.
func (p *planner) collects() bool {
	lost := p.memory.recoveredAt // still known after the round of the recovery has ended
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

// spares returns the pods that are waiting for a slot, oldest first. The result is computed on the first call.
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

// isIdle reports whether a pod without a slot can be assigned one. A Job that has become smaller, for example because a user wants fewer
// spares, deletes its highest indexes a moment later.
func (p *planner) isIdle(pod *workload.Pod) bool {
	_, index := workload.JobOf(pod.Slot)
	if job := p.jobOf(pod); job == nil || job.Deleting || job.Suspended || index >= job.Indexes {
		return false
	}
	runs := pod.Phase == workload.Running && !pod.Deleting && !slices.ContainsFunc(pod.Containers, func(c workload.Container) bool { return !c.Running })
	return runs && pod.Generation == p.Owner.Epoch.Epoch && !p.group.IsFenced(pod.UID) && p.knownSlot(pod) == ""
}

// spareFor returns the pod to assign to a slot: the slot's own pod if it is waiting, otherwise the oldest spare that is not on the lost pod's
// node. It returns the zero value if there is none.
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
	p.heirs[best.UID] = true
	return rounds.Slot{Name: best.Slot, Pod: best.UID}
}

// heirOf returns the pod to assign to a lost pod's slot. It returns the zero value if there is none, or if another pod may still be running in
// that slot.
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

// needed reports whether a slot's step has entered and the slot's index has not completed or failed in its Job.
func (p *planner) needed(slot string) bool {
	name, index := workload.JobOf(slot)
	job := p.job(name)
	if job == nil || !job.Current || job.Ended(index) {
		return false
	}
	return slices.ContainsFunc(p.group.Stages, func(s coordination.Stage) bool { return s.Has(slot) && p.group.HasEntered(s) })
}

// give assigns a slot to the heir. If pod is not empty, that pod is released from the slot first.
func (p *planner) give(slot, pod string, heir rounds.Slot) {
	unit, _ := p.group.UnitOf(slot)
	p.do(Release{Unit: unit, Slot: rounds.Slot{Name: slot, Pod: pod}, For: slot, Heir: heir})
}

// giveToHolder reports whether a slot is held, according to the store, by a pod that may still be running. If the leader does not know of a slot
// for that pod, the store has lost the assignment, and giveToHolder assigns the slot to the pod again.
func (p *planner) giveToHolder(slot string) bool {
	holder := p.Reads.Holders[slot]
	pod := p.podOf(holder)
	if pod == nil || !pod.MayRun() {
		return false
	}
	if p.worksIn(pod) == "" && pod.Lives() {
		p.heirs[pod.UID] = true
		p.give(slot, "", rounds.Slot{Name: pod.Slot, Pod: pod.UID})
	}
	return true
}
