package leader

import (
	"fmt"
	"time"
)

// MissedEvery is how often Jobs that were recreated without agents are deleted again. It is also how often the pods of a group are
// listed live while some of them are missing.
const MissedEvery = 10 * time.Second

// leaveMissed handles groups in which only some Jobs or pods have agents. In such a group, the workers with agents would wait for the
// others forever. If the group has not run yet, it is no longer managed: the Jobs or pods with agents are deleted, and their owner
// creates them again without agents. If the group has already run, those without agents must have been recreated; they are deleted
// again.
func (p *planner) leaveMissed() {
	s := p.Owner.Served
	if s == nil || p.wanted == nil {
		return
	}
	missed, event := p.missedJobs, EventMissed
	if s.Pods {
		missed, event = p.missedPods, EventMissedPods
	}
	text, without, with := missed()
	hasRun := p.current() && p.group.Level.Entered > 0 // workers of the group have run in this epoch
	switch {
	case text == "" && (hasRun || p.Conflict == ""):
		p.memory.missedChecked = time.Time{}
	case hasRun:
		if p.due(&p.memory.missedChecked, MissedEvery) && p.doAny(without) {
			p.event(true, event, text+"; deleting them, because the group waits for their workers")
		}
		p.resyncIn(MissedEvery)
	case p.Conflict != "":
		p.refused, p.wanted = p.Conflict, nil
	default:
		p.refused, p.wanted = text+"; the whole group runs without in-place restarts until all of it is recreated", nil
		if p.doAny(with) {
			p.event(true, event, p.refused+"; deleting those with agents, so that their owner recreates them without agents")
		}
	}
}

// missedJobs returns actions that delete the Jobs without agents and the Jobs with agents. text describes the Jobs without agents, and is
// empty if there are none.
func (p *planner) missedJobs() (text string, without, with []Action) {
	var names []string
	led := 0
	for _, job := range p.Jobs {
		if !job.Current {
			continue
		}
		list := &without
		if job.LedBy == p.Owner.Served.Installation {
			led++
			list = &with
		} else {
			names = append(names, job.Name)
		}
		if !job.Over {
			*list = append(*list, DeleteJob{Job: job, For: ForMissed})
		}
	}
	if len(names) == 0 {
		return "", nil, nil
	}
	return fmt.Sprintf("%d of %d Jobs were created without agents (%s), because the webhook was unreachable or does not apply to them",
		len(names), len(names)+led, some(names, maxNamed)), without, with
}

// missedPods is like missedJobs, but for groups of pods without Jobs. It requests that the pods be listed again while some have not joined.
func (p *planner) missedPods() (text string, without, with []Action) {
	if p.group == nil || p.group.Joined < p.group.Size {
		p.resyncIn(MissedEvery)
	}
	if len(p.Missed) == 0 {
		return "", nil, nil
	}
	for _, one := range p.Missed {
		without = append(without, DeletePod{Pod: one.Pod, Why: one.Why, For: ForMissed})
	}
	for _, pod := range p.Pods {
		if pod.Lives() {
			with = append(with, DeletePod{Pod: pod, Slot: pod.Slot, Why: "others have no agents", For: ForMissed})
		}
	}
	return fmt.Sprintf("%d pods of the group have no agents; pod %s: %s", len(p.Missed), p.Missed[0].Pod.Name, p.Missed[0].Why), without, with
}

// doAny adds actions that were not tried before. It reports whether any was added.
func (p *planner) doAny(actions []Action) (added bool) {
	for _, a := range actions {
		added = p.do(a) || added
	}
	return added
}
