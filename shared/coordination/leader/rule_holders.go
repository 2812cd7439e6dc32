package leader

import (
	"slices"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination/leader/workload"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
)

const (
	// holdersEvery is the minimum interval between queries to the store about which pods hold the slots of new pods.
	holdersEvery = time.Second
	// createdWithin allows for clock skew and stale caches: a pod is in the cache within this time after its creation timestamp.
	createdWithin = time.Minute
)

// freeSlots releases slots held by pods that are gone, so that their current pods can join. This is needed if the old pod's agent
// had no time to leave the slot and the deletion was not observed. Only pods created since the last query are checked.
func (p *planner) freeSlots() {
	if !p.active() {
		return
	}
	newcomers := p.newcomers()
	if len(newcomers) == 0 {
		return
	}
	p.resyncIn(holdersEvery)
	if !p.due(&p.memory.holdersChecked, holdersEvery) {
		return
	}
	for _, one := range newcomers {
		p.knowsHolder(one.Slot)
	}
	if len(p.plan.Need.Holders) > 0 {
		return
	}
	held := 0
	for _, one := range newcomers {
		switch holder := p.Reads.Holders[one.Slot]; holder {
		case "":
		case one.UID:
			if p.memory.holding == nil {
				p.memory.holding = map[string]bool{}
			}
			p.memory.holding[one.UID] = true
		default:
			held++
			if p.isThere(holder) {
				if p.wanted.Barrier {
					p.giveToHolder(one.Slot)
				}
			} else if gone, known := p.isGone(one.Slot, holder); known && gone && !p.hasFinished(one.Slot, holder) {
				p.released(rounds.Slot{Name: one.Slot, Pod: holder}, "")
			}
		}
	}
	if held == 0 {
		p.memory.holdersKnown = p.Began.Add(-createdWithin)
	}
}

// newcomers returns the live pods that may not have joined yet.
func (p *planner) newcomers() []*workload.Pod {
	var list []*workload.Pod
	recent := false
	for _, pod := range p.Pods {
		if !pod.Created.After(p.memory.holdersKnown) || !pod.Lives() || p.newest(pod.Slot) != pod {
			continue
		}
		if recent = true; p.memory.holding[pod.UID] || p.worksIn(pod) != pod.Slot {
			continue
		}
		name, index := workload.JobOf(pod.Slot)
		if job := p.job(name); job != nil && job.Current && pod.Job == job.UID && !job.Completed.Has(index) {
			list = append(list, pod)
		}
	}
	if !recent {
		p.memory.holding = nil
	}
	return list
}

// hasFinished reports whether the pod that holds a slot has finished, according to the API server. Such a pod is not lost.
func (p *planner) hasFinished(slot, holder string) bool {
	return slices.ContainsFunc(p.Reads.Slots[slot].Pods, func(pod *workload.Pod) bool {
		return pod.UID == holder && pod.Phase == workload.Succeeded && !pod.Lost()
	})
}
