package leader

import (
	"slices"

	"github.com/holdfast-project/holdfast/shared/coordination/leader/workload"
)

// deleteFenced deletes pods that were released from their slots, unless a newer pod has the same index. The store rejects their
// reports, so the group would wait for them forever, and a spare among them could never get a slot. Deleting a Job also deletes its
// pods.
func (p *planner) deleteFenced() {
	if !p.active() {
		return
	}
	var fenced []victim
	for _, pod := range p.Pods {
		gone := slices.ContainsFunc(p.Lost, func(lost Loss) bool { return lost.Pod.UID == pod.UID }) // but still in the cache
		if gone || !pod.Lives() || !p.group.IsFenced(pod.UID) || p.newest(pod.Slot) != pod {
			continue
		}
		if job := p.jobOf(pod); job != nil && !job.Deleting && !p.tried(DeleteJob{Job: job}) {
			fenced = append(fenced, victim{slot: p.slotOf(pod).Name, pod: pod, why: Fenced})
		}
	}
	p.remove(fenced, ForFence, func(_ victim, live *workload.Pod) bool { return live.Lives() })
}
