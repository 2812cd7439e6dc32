package leader

import (
	"github.com/holdfast-project/holdfast/shared/coordination/leader/workload"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
)

// released reports whether the store rejects a pod's reports. If it does not, released adds an action that releases the pod from
// its slot, and a later plan continues from there.
func (p *planner) released(slot rounds.Slot, name string) bool {
	return p.releasedFor(slot.Name, slot, name, rounds.Slot{})
}

// releasedFor is like released, but the store records the failed slot as the cause. If there is an heir, it is assigned the slot.
func (p *planner) releasedFor(failed string, slot rounds.Slot, name string, heir rounds.Slot) bool {
	unit, found := p.group.UnitOf(slot.Name)
	if !found || p.group.Units[unit].Left || p.group.IsFenced(slot.Pod) {
		return true
	}
	p.do(Release{Unit: unit, Slot: slot, PodName: name, Node: p.nodeOfPod(slot.Pod), For: failed, Heir: heir})
	return false
}

// nodeOfPod returns the node of a pod that exists or was just lost, or "" if the node is unknown.
func (p *planner) nodeOfPod(uid string) string {
	for _, lost := range p.Lost {
		if lost.Pod.UID == uid {
			return lost.Pod.Node
		}
	}
	if pod := p.podOf(uid); pod != nil {
		return pod.Node
	}
	return ""
}

// remove reads pods live, releases them from their slots and deletes them, at most atOnce in one plan. Pods are released before
// they are deleted, so that a worker that exits with code 0 when it is stopped does not count as finished. still reports whether
// the live pod should still be deleted.
func (p *planner) remove(victims []victim, purpose Purpose, still func(victim, *workload.Pod) bool) {
	var read, unread []victim
	for _, v := range victims {
		live, known := p.Reads.Pods[v.pod.Name]
		switch {
		case p.tried(DeletePod{Pod: v.pod}):
		case !known:
			unread = append(unread, v)
		case live != nil && live.UID == v.pod.UID && live.Job == v.pod.Job && still(v, live): // the decision was about this pod and still applies
			read = append(read, v)
		}
	}
	if len(read) == 0 {
		if len(unread) > 0 && !p.spent() {
			for _, v := range unread[:min(len(unread), atOnce)] {
				p.plan.Need.Pods = append(p.plan.Need.Pods, v.pod)
			}
		}
		return
	}
	for _, v := range read {
		if p.released(p.slotOf(v.pod), v.pod.Name) {
			p.do(DeletePod{Pod: p.Reads.Pods[v.pod.Name], Slot: v.slot, Why: v.why, For: purpose})
		}
	}
}
