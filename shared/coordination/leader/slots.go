package leader

import (
	"slices"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/leader/workload"
)

// place is a slot of the group, its Job and its pods.
type place struct {
	slot  string
	job   *workload.Job
	index int
	pods  []*workload.Pod
}

// replaces reports whether the group needs all of its workers now. A group that forms for the first time is excluded: no timeout
// would end a series of pods that fail as soon as they start, but the back-off of the Job controller does.
func (p *planner) replaces() bool {
	return p.current() && (p.group.Phase == coordination.Running || p.group.Phase == coordination.Restarting || p.remakes())
}

// remakes reports whether the pods of a Job that is a group by itself are missing after a full recreation. The Job controller would
// create them after a back-off that the deletion of many pods has raised to 10 min. A pod that ends after that is left to the Job.
func (p *planner) remakes() bool {
	return p.alone() && p.group.Phase == coordination.Forming && p.Owner.Epoch.Recreate == p.Owner.Epoch.Epoch
}

// places returns the slots of entered steps, or of all steps if the pods of a recreated Job are missing. It skips stages that are
// not counted, have not formed or have left, and Jobs whose pods could not be found again.
func (p *planner) places() []place {
	var places []place
	for i := range p.Jobs {
		job := &p.Jobs[i]
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

// readPlaces requests the Jobs, to check that they still need the pods, and the slots' pods. The list of pods must include only
// what is known here already: any list may miss a pod that the Job controller has just created, which giveWay handles.
func (p *planner) readPlaces(places []place) {
	jobs := map[string]bool{}
	for _, at := range places {
		need := SlotNeed{Slot: at.slot, Job: at.job, Index: at.index}
		for _, pod := range at.pods {
			need.Since = append(need.Since, pod.Version)
		}
		for _, lost := range p.Lost {
			if lost.Pod.Slot == at.slot {
				need.Since = append(need.Since, lost.Pod.Version)
			}
		}
		p.plan.Need.Slots = append(p.plan.Need.Slots, need)
		if !jobs[at.job.Name] {
			jobs[at.job.Name] = true
			p.plan.Need.Jobs = append(p.plan.Need.Jobs, at.job)
		}
	}
}

// knowsHolders reports whether the store was asked who holds the slots; if not, it is.
func (p *planner) knowsHolders(slots ...string) bool {
	for _, slot := range slots {
		if _, known := p.Reads.Holders[slot]; !known {
			p.plan.Need.Holders = append(p.plan.Need.Holders, slot)
		}
	}
	return len(p.plan.Need.Holders) == 0
}

// isThere reports whether a pod may still run, according to the cache.
func (p *planner) isThere(uid string) bool {
	pod := p.podOf(uid)
	return pod != nil && pod.MayRun()
}

// isGone reports whether a pod that holds a slot and that is not in the cache is gone. It reads past the cache, except for a pod that a leader has
// given the slot: that one was in a cache before. known is false if the answer has to be read first, or cannot be read.
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
