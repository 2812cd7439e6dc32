package leader

import (
	"cmp"
	"slices"
	"strings"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/leader/workload"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
)

// seats records which pods work in slots other than their own.
//
//	pod of a slot, no assignment     works in its own slot
//	pod whose slot was reassigned    is a spare
//	pod of a spare Job               is a spare
//	spare with an assigned slot      works in that slot
type seats struct {
	given map[string]string        // UID of the pod assigned to a slot, by slot, according to the store
	slot  map[string]string        // slot assigned to a pod, by UID, even if the store has lost the assignment
	by    map[string]*workload.Pod // pod assigned to a slot, by slot, even if the store has lost the assignment; nil if the pod is gone
	// astray are pods that have lost their assigned slots but may still be running workers, by slot.
	astray map[string][]*workload.Pod
}

// seating returns the seats. They are computed on the first call.
func (p *planner) seating() *seats {
	if p.seats != nil {
		return p.seats
	}
	s := &seats{given: map[string]string{}, slot: map[string]string{}, by: map[string]*workload.Pod{}, astray: map[string][]*workload.Pod{}}
	p.seats = s
	if p.group == nil {
		return s
	}
	for _, one := range p.group.Given {
		s.given[one.Name], s.slot[one.Pod] = one.Pod, one.Name
	}
	var claims []*workload.Pod
	for _, pod := range p.Pods {
		if slot := s.slot[pod.UID]; slot != "" {
			s.by[slot] = pod
		} else if p.knownSlot(pod) != "" {
			claims = append(claims, pod)
		}
	}
	for _, pod := range claims {
		if slot := p.knownSlot(pod); p.group.IsFenced(pod.UID) || s.by[slot] != nil && s.by[slot].MayRun() {
			s.astray[slot] = append(s.astray[slot], pod)
		} else {
			s.slot[pod.UID], s.by[slot] = slot, pod
		}
	}
	return s
}

// knownSlot returns the slot assigned to a pod, according to its annotation or to what this process has observed in the store. It returns "" for a
// pod that is no longer running.
func (p *planner) knownSlot(pod *workload.Pod) string {
	if !pod.MayRun() || pod.Generation != p.Owner.Epoch.Epoch {
		return ""
	}
	return cmp.Or(pod.Given, p.memory.seen.in(int64(p.Owner.Epoch.Epoch)).given[pod.UID])
}

// claimed returns the known assignments, which restore a group that the store has lost.
func (p *planner) claimed() []rounds.Seat {
	var list []rounds.Seat
	taken := map[string]bool{}
	for _, pod := range p.Pods {
		if slot := p.knownSlot(pod); slot != "" && !taken[slot] {
			taken[slot] = true
			list = append(list, rounds.Seat{Slot: rounds.Slot{Name: slot, Pod: pod.UID}, Home: pod.Slot})
		}
	}
	return list
}

// worksIn returns the slot in which a pod works, or "" if the pod is a spare.
func (p *planner) worksIn(pod *workload.Pod) string {
	s := p.seating()
	switch slot := s.slot[pod.UID]; {
	case slot != "":
		return slot
	case pod.Waits || p.isGiven(pod.Slot):
		return ""
	case strings.Contains(pod.Slot, "-spares-") && slices.ContainsFunc(p.group.Stages, func(s coordination.Stage) bool { return s.HasSpare(pod.Slot) }):
		return "" // it belongs to a spare Job
	}
	return pod.Slot
}

// isGiven reports whether a slot is assigned to a pod.
func (p *planner) isGiven(slot string) bool {
	return p.seating().given[slot] != "" || p.seating().by[slot] != nil
}

// slotOf returns the slot from which a pod is released.
func (p *planner) slotOf(pod *workload.Pod) rounds.Slot {
	return rounds.Slot{Name: cmp.Or(p.seating().slot[pod.UID], pod.Given, pod.Slot), Pod: pod.UID}
}

// workersOf returns the pods that work in a slot.
func (p *planner) workersOf(slot string) []*workload.Pod {
	s := p.seating()
	switch {
	case s.by[slot] != nil:
		return []*workload.Pod{s.by[slot]}
	case s.given[slot] != "":
		return nil
	}
	return slices.DeleteFunc(slices.Clone(p.index().bySlot[slot]), func(pod *workload.Pod) bool { return p.worksIn(pod) != slot })
}

// runningIn returns the pods that work in a slot, and those that have lost it but may still be running.
func (p *planner) runningIn(slot string) []*workload.Pod {
	return slices.Concat(p.workersOf(slot), p.seating().astray[slot])
}

// jobOf returns a pod's Job, or nil.
func (p *planner) jobOf(pod *workload.Pod) *workload.Job {
	if i := slices.IndexFunc(p.Jobs, func(job *workload.Job) bool { return job.UID == pod.Job }); i >= 0 {
		return p.Jobs[i]
	}
	return nil
}
