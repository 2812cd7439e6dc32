package leader

import (
	"slices"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/leader/workload"
)

// vacantEvery is how soon a slot without a pod is checked again while its Job or a spare is expected to fill it. Changes to the
// Job do not trigger a reconcile.
const vacantEvery = time.Second

// createWithin limits the time between reading a slot's pods and creating a pod. It is shorter than the time that another leader
// needs to take over, so that a leader that was paused does not create a pod in addition to its successor's. Unlike writes to the
// store, pod creation is not fenced.
const createWithin = 5 * time.Second

// replaceLost creates pods for slots that have lost theirs, so that the group does not wait for the Job controller's back-off. It
// is level-based: it depends on which pods exist and not on which deletions were observed, so a new leader continues where the
// previous one stopped.
//
//	a pod of the slot is live                     nothing to do
//	one is terminating, its containers may run    wait, unless its node is gone (releaseDead)
//	all have failed, ended or are gone            create the pod that the Job controller would create after its back-off
//	one has Succeeded                             nothing to do: the Job counts the slot as finished
//
// The Job controller waits 10 s after a Job loses its first pod, and twice as long after each further loss, up to 10 min. It
// recognizes the new pod by its owner and completion index and adopts it, so it does not create another one. If it has created one
// at the same moment, it deletes one of the two. See docs/adr/20261122-replace-lost-pods-in-the-orchestrator.md.
func (p *planner) replaceLost() {
	if !p.replaces() {
		p.memory.created = roundPods{}
		return
	}
	var read, unread []place
	for _, at := range p.places() {
		if workload.StateOf(at.pods) != workload.Vacant || !p.dueForPod(at) {
			continue
		}
		if listed, known := p.Reads.Slots[at.slot]; !known || p.now.Sub(listed.At) >= createWithin {
			unread = append(unread, at)
		} else if p.isVacant(at) {
			read = append(read, at)
		}
	}
	if len(read) == 0 {
		if len(unread) > 0 && !p.spent() {
			p.readPlaces(unread[:min(len(unread), atOnce)])
		}
		return
	}
	for _, at := range read {
		p.fill(at)
	}
}

// dueForPod reports whether it is time to create a pod for a slot. If the worker has finished and its pod was cleaned up, there is
// no need to query the API server or to check again. While the slot's worker runs in a spare, only the Job creates further pods,
// because no round's timeout would end a series of pods that fail on startup.
func (p *planner) dueForPod(at place) bool {
	if at.job.Ended(at.index) {
		return false
	}
	if !at.job.Accepts(at.index) {
		p.resyncIn(vacantEvery)
		return false
	}
	made := p.memory.created.in(p.round())[at.slot]
	if made.created > 0 && (p.remakes() || made.ok && p.isGiven(at.slot) && p.group.Phase == coordination.Running) {
		return false
	}
	wait := made.due().Sub(p.Began)
	if wait > 0 {
		p.resyncIn(wait)
	}
	return wait <= 0
}

// isVacant reports whether a slot needs a pod, according to the API server. The cache may not show yet what the Job controller or
// another leader has done.
func (p *planner) isVacant(at place) bool {
	live, read := p.Reads.Jobs[at.job.Name]
	if !read {
		p.plan.Need.Jobs = append(p.plan.Need.Jobs, at.job)
		return false
	}
	if p.Reads.Slots[at.slot].Failed || live == nil {
		return false
	}
	if live.UID != at.job.UID || !live.Accepts(at.index) {
		p.resyncIn(vacantEvery)
		return false
	}
	return workload.StateOf(p.Reads.Slots[at.slot].Pods) == workload.Vacant
}

// fill releases the lost pods from the slot, so that anything still running in them no longer affects the group. It then creates
// the new pod for the group's current round.
func (p *planner) fill(at place) {
	a := CreatePod{Slot: at.slot, Job: p.Reads.Jobs[at.job.Name], Index: at.index, Round: p.round(), Waits: p.isGiven(at.slot) || p.collects()}
	fenced := true
	for _, pod := range p.Reads.Slots[at.slot].Pods {
		fenced = p.released(p.slotOf(pod), pod.Name) && fenced
		a.Lost = append(a.Lost, pod.UID)
	}
	if fenced {
		slices.Sort(a.Lost)
		a.Retry = p.memory.created.in(a.Round)[at.slot].created > 0
		p.do(a)
	}
}
