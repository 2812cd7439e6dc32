package leader

import (
	"slices"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/leader/workload"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
)

// place is a slot of the group with its Job and its pods.
type place struct {
	slot  string
	job   *workload.Job
	index int
	pods  []*workload.Pod
}

// replaces reports whether lost pods should be replaced now, because the group needs all of its workers. A group that is forming
// for the first time is excluded: pods that keep failing on startup must be left to the Job controller and its back-off, because
// no timeout would stop them here.
func (p *planner) replaces() bool {
	return p.current() && (p.group.Phase == coordination.Running || p.group.Phase == coordination.Restarting || p.remakes())
}

// remakes reports whether the owner is the only Job of its group and has just lost its pods in a full recreation. The Job
// controller would create new pods only after its back-off, which the deletion of many pods has raised to 10 min. Pods that end
// later are left to the Job controller.
func (p *planner) remakes() bool {
	return p.alone() && p.group.Phase == coordination.Forming && p.Owner.Epoch.Recreate == p.Owner.Epoch.Epoch
}

// places returns the slots of entered steps, or of all steps if remakes returns true. It skips stages that do not belong to the
// group, have not formed or have left, and Jobs whose pods could not be found by their labels.
func (p *planner) places() []place {
	var places []place
	for _, job := range p.Jobs {
		if !job.Current || !job.Findable || job.Spares {
			continue
		}
		for _, stage := range p.group.Stages {
			if stage.Prefix != job.Stage || !p.group.HasEntered(stage) && !p.remakes() {
				continue
			}
			for index := range int(stage.Pods) {
				slot := job.Slot(index)
				places = append(places, place{slot, job, index, p.index().bySlot[slot]})
			}
		}
	}
	return places
}

// readPlaces requests the slots' pods, and their Jobs to check that they still need the pods. The list of pods may be as old as
// the pods known here. Even a current list may miss a pod that the Job controller has just created.
func (p *planner) readPlaces(places []place) {
	jobs := map[string]bool{}
	for _, at := range places {
		p.plan.Need.Slots = append(p.plan.Need.Slots, SlotNeed{Slot: at.slot, Job: at.job, Index: at.index})
		if !jobs[at.job.Name] {
			jobs[at.job.Name] = true
			p.plan.Need.Jobs = append(p.plan.Need.Jobs, at.job)
		}
	}
}

// knowsHolder requests a slot's holder from the store if it is unknown, and reports whether all requested holders are known.
func (p *planner) knowsHolder(slot string) bool {
	if _, known := p.Reads.Holders[slot]; !known {
		p.plan.Need.Holders = append(p.plan.Need.Holders, slot)
	}
	return len(p.plan.Need.Holders) == 0
}

// isThere reports whether a pod may still be running, according to the cache.
func (p *planner) isThere(uid string) bool {
	pod := p.podOf(uid)
	return pod != nil && pod.MayRun()
}

// isGone reports whether a pod that holds a slot but is not in the cache is really gone. It reads from the API server, unless a leader assigned
// the slot to the pod, because such a pod was once in a cache. known is false if the answer must be read first or could not be read.
func (p *planner) isGone(slot, holder string) (gone, known bool) {
	if p.seating().given[slot] == holder {
		return true, true
	}
	read, asked := p.Reads.Slots[slot]
	switch name, index := workload.JobOf(slot); {
	case !asked:
		if job := p.job(name); job != nil && job.Findable && len(p.plan.Need.Slots) < atOnce && !p.spent() {
			p.plan.Need.Slots = append(p.plan.Need.Slots, SlotNeed{Slot: slot, Job: job, Index: index})
		}
		return false, false
	case read.Failed:
		return false, false
	}
	return !slices.ContainsFunc(read.Pods, func(pod *workload.Pod) bool { return pod.UID == holder && pod.MayRun() }), true
}

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

// nodeOfPod returns the node of a pod that still exists or was just lost, or "" if the node is unknown.
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
