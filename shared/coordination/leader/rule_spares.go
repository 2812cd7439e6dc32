package leader

import (
	"cmp"
	"slices"

	"github.com/holdfast-project/holdfast/shared/coordination/leader/workload"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
)

// keepGiven keeps the assignment of slots in the store and in the pods' annotations consistent. If the store has lost an assignment, the leader
// makes it again. If another pod has since taken the slot, or the slot no longer exists, the leader fences and deletes the pod.
func (p *planner) keepGiven() {
	if p.wanted == nil || !p.wanted.Barrier || !p.current() || p.group.Level.Phase != rounds.Active {
		return
	}
	s := p.seating()
	var astray []victim
	var again []*workload.Pod
	for _, pod := range p.Pods {
		slot := cmp.Or(s.slot[pod.UID], p.knownSlot(pod))
		if slot == "" || !pod.MayRun() || p.group.IsFenced(pod.UID) {
			continue
		}
		_, exists := p.group.UnitOf(slot)
		switch {
		case !exists, s.slot[pod.UID] != slot, pod.Given != "" && pod.Given != slot:
			astray = append(astray, victim{slot: slot, pod: pod, why: Fenced})
		case s.given[slot] != pod.UID:
			again = append(again, pod)
		case pod.Given == "" && pod.Lives():
			p.do(AnnotatePod{Pod: pod, Slot: slot})
		}
	}
	for _, pod := range again {
		if slot := s.slot[pod.UID]; p.knowsHolder(slot) && p.giveAgain(slot, pod) {
			astray = append(astray, victim{slot: slot, pod: pod, why: Fenced})
		}
	}
	if len(p.plan.Need.Holders) == 0 && len(p.plan.Actions) == 0 {
		astray = slices.DeleteFunc(astray, func(v victim) bool { return !v.pod.Lives() })
		p.remove(astray, ForFence, func(_ victim, live *workload.Pod) bool { return live.Lives() })
	}
}

// giveAgain assigns a slot to a pod again after the store has lost the assignment. It reports whether another pod has taken the
// slot.
func (p *planner) giveAgain(slot string, pod *workload.Pod) (taken bool) {
	holder := p.Reads.Holders[slot]
	switch {
	case holder == pod.UID, holder == "":
		holder = p.seating().given[slot] // the pod that is assigned to the slot in the store is gone
	case p.isThere(holder):
		return true
	default:
		if gone, known := p.isGone(slot, holder); !known || !gone {
			return known
		}
	}
	p.give(slot, holder, rounds.Slot{Name: pod.Slot, Pod: pod.UID})
	return false
}

// giveSlots assigns slots without scheduled pods to spares, regardless of how the pods were lost.
func (p *planner) giveSlots() {
	if !p.gives() || len(p.spares()) == 0 {
		return
	}
	var vacant []place
	for _, at := range p.places() {
		if p.needed(at.slot) && workload.StateOf(scheduled(p.runningIn(at.slot))) == workload.Vacant &&
			len(vacant) < atOnce && len(p.plan.Need.Holders) < atOnce && p.knowsHolder(at.slot) {
			vacant = append(vacant, at)
		}
	}
	if len(vacant) > 0 {
		p.resyncIn(vacantEvery)
	}
	if len(p.plan.Need.Holders) == 0 {
		for _, at := range slices.DeleteFunc(vacant, func(at place) bool { return p.giveToHolder(at.slot) }) {
			p.giveVacant(at)
		}
	}
	if len(p.plan.Need.Holders) > 0 || len(p.plan.Need.Slots) > 0 {
		p.plan.Actions = nil // execute the actions together, once everything has been read
	}
}

// giveVacant assigns a slot that has no pod, according to the cache, to a spare.
func (p *planner) giveVacant(at place) {
	given, holder := p.seating().given[at.slot], p.Reads.Holders[at.slot]
	if given == "" && !p.isVacantNow(at) {
		return
	}
	node := ""
	if pods := scheduled(p.workersOf(at.slot)); len(pods) > 0 {
		node = pods[0].Node
	}
	heir := p.spareFor(at.slot, node)
	if heir == (rounds.Slot{}) && given != "" {
		heir = p.spareFor(at.slot, "") // a spare on the same node is better than none, because only a spare can take a slot that has been assigned
	}
	if heir != (rounds.Slot{}) {
		p.give(at.slot, cmp.Or(holder, given), heir)
	}
}

// isVacantNow reports whether a slot has no pod, according to the API server. It returns false if the pods must be read first.
func (p *planner) isVacantNow(at place) bool {
	read, known := p.Reads.Slots[at.slot]
	if !known && len(p.plan.Need.Slots) < atOnce && !p.spent() {
		p.readPlaces([]place{at})
	}
	if !known || read.Failed {
		return false
	}
	working := slices.DeleteFunc(slices.Clone(read.Pods), func(pod *workload.Pod) bool { return p.worksIn(pod) != at.slot })
	return workload.StateOf(scheduled(working)) == workload.Vacant
}

// scheduled returns the pods, except for live pods that have no node yet. Nothing has run in such a pod, so a spare may take its slot. The pod
// then waits for a slot when it starts.
func scheduled(pods []*workload.Pod) []*workload.Pod {
	return slices.DeleteFunc(slices.Clone(pods), func(pod *workload.Pod) bool { return pod.Lives() && pod.Node == "" })
}
