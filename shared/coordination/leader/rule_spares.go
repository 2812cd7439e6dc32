package leader

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/leader/workload"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
)

// collectFor is how long agents may take to join again after the store has lost the group. Until then, a pod whose annotation was not written
// may work in a slot that seems to be vacant.
const collectFor = 5 * time.Second

// seats says which pods work in slots other than their own.
//
//	pod of a slot, nothing given     works in its own slot
//	pod whose slot was given away    is a spare
//	pod of the Job of spares         is a spare
//	spare that was given a slot      works in that slot
type seats struct {
	given map[string]string        // UID of the pod that a slot was given to, by slot, as the store has it
	slot  map[string]string        // slot that a pod was given, by UID, even if the store has lost that
	by    map[string]*workload.Pod // pod that a slot was given to, by slot, even if the store has lost that; nil if the pod is gone
	// astray are pods that were given a slot and have lost it, but whose workers may still run. The key is the slot.
	astray map[string][]*workload.Pod
}

// seating returns the seats. It computes them on the first call.
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

// knownSlot returns the slot that a pod was given, as its annotation says or as this process has seen in the store. It returns "" for a pod that no
// longer runs.
func (p *planner) knownSlot(pod *workload.Pod) string {
	if !pod.MayRun() || pod.Generation != p.Owner.Epoch.Epoch {
		return ""
	}
	return cmp.Or(pod.Given, p.memory.given.in(int64(p.Owner.Epoch.Epoch))[pod.UID])
}

// claimed returns the slots that pods were given, for a group that the store has lost.
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

// worksIn returns the slot that a pod works in, or "" if it is a spare.
func (p *planner) worksIn(pod *workload.Pod) string {
	s := p.seating()
	switch slot := s.slot[pod.UID]; {
	case slot != "":
		return slot
	case pod.Waits || p.isGiven(pod.Slot) || p.isSpare(pod):
		return ""
	}
	return pod.Slot
}

// isGiven reports whether a slot was given to a pod.
func (p *planner) isGiven(slot string) bool {
	return p.seating().given[slot] != "" || p.seating().by[slot] != nil
}

// isSpare reports whether a pod belongs to a Job of spares.
func (p *planner) isSpare(pod *workload.Pod) bool {
	return strings.Contains(pod.Slot, "-spares-") && slices.ContainsFunc(p.group.Stages, func(s coordination.Stage) bool { return s.HasSpare(pod.Slot) })
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

// runningIn returns the pods that work in a slot, and those that have lost it and may still run in it.
func (p *planner) runningIn(slot string) []*workload.Pod {
	return slices.Concat(p.workersOf(slot), p.seating().astray[slot])
}

// jobOf returns the Job of a pod, or nil.
func (p *planner) jobOf(pod *workload.Pod) *workload.Job {
	for i := range p.Jobs {
		if p.Jobs[i].UID == pod.Job {
			return &p.Jobs[i]
		}
	}
	return nil
}

// gives reports whether slots may be given to spares: workers wait at the barrier, and the group needs all of them now.
func (p *planner) gives() bool {
	return p.wanted != nil && p.wanted.Barrier && p.replaces() && !p.collects()
}

// collects reports whether the store has lost the group, and agents may need more time to join again. A group without spares does not wait for that.
func (p *planner) collects() bool {
	if p.clock == nil || p.group.Record.Cause.Kind != coordination.KindRecovery || len(p.spares()) == 0 {
		return false
	}
	wait := collectFor - p.now.Sub(p.clock.Start)
	if wait > 0 {
		p.resyncIn(wait)
	}
	return wait > 0
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

// releaseTo releases a pod and gives its slot to the heir, if there is one.
func (p *planner) releaseTo(heir, slot rounds.Slot, name string) {
	before := len(p.plan.Actions)
	if p.released(slot, name); len(p.plan.Actions) > before {
		a := p.plan.Actions[before].(Release)
		a.Heir = heir
		p.plan.Actions[before] = a
	}
}

// keepGiven keeps the slots that were given the same in the store and in the pods' annotations. If the store has lost such a slot, the leader gives
// it again. If another pod has taken it meanwhile, or if the slot was removed, the leader fences and deletes the pod.
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
		if slot := s.slot[pod.UID]; p.knowsHolders(slot) && p.giveAgain(slot, pod) {
			astray = append(astray, victim{slot: slot, pod: pod, why: Fenced})
		}
	}
	if len(p.plan.Need.Holders) == 0 && len(p.plan.Actions) == 0 {
		astray = slices.DeleteFunc(astray, func(v victim) bool { return !v.pod.Lives() })
		p.remove(astray, ForFence, func(_ victim, live *workload.Pod) bool { return live.Lives() })
	}
}

// giveAgain gives a slot to a pod again, because the store has lost it. It reports whether another pod has taken the slot.
func (p *planner) giveAgain(slot string, pod *workload.Pod) (taken bool) {
	holder := p.Reads.Holders[slot]
	switch {
	case holder == pod.UID, holder == "":
		holder = p.seating().given[slot] // that pod is gone
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

// give gives a slot to the heir, after it has released a pod from it, if there is one.
func (p *planner) give(slot, pod string, heir rounds.Slot) {
	unit, _ := p.group.UnitOf(slot)
	p.do(Release{Unit: unit, Slot: rounds.Slot{Name: slot, Pod: pod}, For: slot, Heir: heir})
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

// giveSlots gives slots without pods to spares, however the pods were lost. A fenced spare can never get a slot, so it is deleted, and its Job
// replaces it.
func (p *planner) giveSlots() {
	if !p.gives() {
		return
	}
	var fenced []victim
	for _, pod := range p.Pods {
		if p.worksIn(pod) == "" && p.group.IsFenced(pod.UID) && pod.Lives() {
			fenced = append(fenced, victim{slot: pod.Slot, pod: pod, why: Fenced})
		}
	}
	p.remove(fenced, ForFence, func(_ victim, live *workload.Pod) bool { return live.Lives() })
	if len(p.spares()) == 0 {
		return
	}
	var vacant []place
	for _, at := range p.places() {
		if p.needed(at.slot) && workload.StateOf(p.runningIn(at.slot)) == workload.Vacant &&
			len(vacant) < atOnce && len(p.plan.Need.Holders) < atOnce && p.knowsHolders(at.slot) {
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
		p.plan.Actions = nil // they follow together, once everything is read
	}
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

// giveVacant gives a slot in which no pod works according to the cache.
func (p *planner) giveVacant(at place) {
	given, holder := p.seating().given[at.slot], p.Reads.Holders[at.slot]
	if given == "" && !p.isVacantNow(at) {
		return
	}
	heir := p.spareFor(at.slot, nodeOf(p.workersOf(at.slot)))
	if heir == (rounds.Slot{}) && given != "" {
		heir = p.spareFor(at.slot, "") // on the same node rather than never: no other pod takes a slot that was given
	}
	if heir != (rounds.Slot{}) {
		p.give(at.slot, cmp.Or(holder, given), heir)
	}
}

// isVacantNow reports whether no pod works in a slot according to the API server. It may have to read that first.
func (p *planner) isVacantNow(at place) bool {
	read, known := p.Reads.Slots[at.slot]
	if !known && len(p.plan.Need.Slots) < atOnce && !p.spent() {
		p.readPlaces([]place{at})
	}
	if !known || read.Failed {
		return false
	}
	return workload.StateOf(slices.DeleteFunc(slices.Clone(read.Pods), func(pod *workload.Pod) bool { return p.worksIn(pod) != at.slot })) == workload.Vacant
}

// nodeOf returns the node of the first pod, or "" if there is none.
func nodeOf(pods []*workload.Pod) string {
	if len(pods) == 0 {
		return ""
	}
	return pods[0].Node
}
