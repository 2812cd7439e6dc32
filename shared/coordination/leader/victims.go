package leader

import (
	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/leader/workload"
)

var errStale = coordination.ErrStaleLeader

// remove takes pods through a read past the cache, the release from their slots and their deletion, so many at a time. The release comes first,
// so that a worker that exits 0 when it is stopped is not taken for finished. still decides on what the API server has; a victim with a Job needs
// that Job as well.
func (p *planner) remove(victims []victim, purpose Purpose, still func(victim, *workload.Pod) bool) {
	var read, unread []victim
	for _, v := range victims {
		switch {
		case p.tried(DeletePod{Pod: v.pod}):
		case !p.isRead(v):
			unread = append(unread, v)
		case p.stands(v, still):
			read = append(read, v)
		}
	}
	if len(read) == 0 {
		if len(unread) > 0 && !p.spent() {
			p.readVictims(unread[:min(len(unread), atOnce)])
		}
		return
	}
	for _, v := range read {
		if p.released(slotOf(v.pod), v.pod.Name) {
			p.do(DeletePod{Pod: p.Reads.Pods[v.pod.Name], Slot: v.slot, Why: v.why, For: purpose})
		}
	}
}

func (p *planner) isRead(v victim) bool {
	_, pod := p.Reads.Pods[v.pod.Name]
	if v.job == nil {
		return pod
	}
	_, job := p.Reads.Jobs[v.job.Name]
	return pod && job
}

// stands reports whether a pod still is the one that was decided on.
func (p *planner) stands(v victim, still func(victim, *workload.Pod) bool) bool {
	live := p.Reads.Pods[v.pod.Name]
	if live == nil || live.UID != v.pod.UID || live.Job != v.pod.Job || (v.job != nil && !p.jobStands(v.job)) {
		return false
	}
	return still(v, live)
}

// jobStands reports whether a Job is there as the API server has it; one that is being deleted takes its pods with it.
func (p *planner) jobStands(job *workload.Job) bool {
	live := p.Reads.Jobs[job.Name]
	return live != nil && live.UID == job.UID && !live.Deleting
}

func (p *planner) readVictims(victims []victim) {
	jobs := map[string]bool{}
	for _, v := range victims {
		p.plan.Need.Pods = append(p.plan.Need.Pods, v.pod)
		if v.job != nil && !jobs[v.job.Name] {
			jobs[v.job.Name] = true
			p.plan.Need.Jobs = append(p.plan.Need.Jobs, v.job)
		}
	}
}
