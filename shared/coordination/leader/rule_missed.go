package leader

import (
	"fmt"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination/leader/workload"
)

// MissedEvery is how often Jobs that were recreated without agents are deleted again. It is also how often the pods of a group are
// listed live while some of them are missing.
const MissedEvery = 10 * time.Second

// leaveMissed handles groups in which only some Jobs have agents. In such a group, the workers with agents would wait for the
// others forever. If the group has not run yet, it is no longer managed: the Jobs with agents are deleted, and the owner's
// controller creates them again without agents. If the group has already run, a Job without agents must have been recreated; that
// Job is deleted again.
func (p *planner) leaveMissed() {
	s := p.Owner.Served
	if s == nil || p.wanted == nil {
		return
	}
	if s.Pods {
		p.leaveMissedPods()
		return
	}
	var missed, led []*workload.Job
	for _, job := range p.Jobs {
		switch {
		case !job.Current:
		case job.LedBy == s.Installation:
			led = append(led, job)
		default:
			missed = append(missed, job)
		}
	}
	switch {
	case len(missed) == 0:
		p.memory.missedChecked = time.Time{}
	case p.hasRun():
		if p.due(&p.memory.missedChecked, MissedEvery) && p.deleteMissed(missed) {
			p.event(true, EventMissed, missedText(missed, len(led))+"; recreating them, because the group waits for their workers")
		}
		p.resyncIn(MissedEvery)
	default:
		p.refused = missedText(missed, len(led)) + "; the whole group runs without in-place restarts until all its Jobs are recreated"
		p.wanted = nil
		if p.deleteMissed(led) {
			p.event(true, EventMissed, p.refused+"; recreating the Jobs without agents")
		}
	}
}

// leaveMissedPods is like leaveMissed, but for groups of pods without Jobs.
func (p *planner) leaveMissedPods() {
	if p.group == nil || p.group.Joined < p.group.Size {
		p.resyncIn(MissedEvery) // to list the pods again
	}
	deleted := false
	switch {
	case p.hasRun() && len(p.Missed) > 0 && p.due(&p.memory.missedChecked, MissedEvery):
		for _, one := range p.Missed {
			deleted = p.do(DeletePod{Pod: one.Pod, Why: one.Why, For: ForMissed}) || deleted
		}
		if deleted {
			p.event(true, EventMissedPods, missedPodsText(p.Missed)+"; deleting them, because the group waits for their workers")
		}
	case p.hasRun():
	case p.Conflict != "":
		p.refused, p.wanted = p.Conflict, nil
	case len(p.Missed) > 0:
		p.refused, p.wanted = missedPodsText(p.Missed), nil
		for _, pod := range p.Pods {
			if pod.Lives() {
				deleted = p.do(DeletePod{Pod: pod, Slot: pod.Slot, Why: "others have no agents", For: ForMissed}) || deleted
			}
		}
		if deleted {
			p.event(true, EventMissedPods, p.refused+"; deleting the pods with agents, so that their owner recreates them without agents")
		}
	}
}

func missedPodsText(missed []Missed) string {
	return fmt.Sprintf("%d pods of the group have no agents; pod %s: %s", len(missed), missed[0].Pod.Name, missed[0].Why)
}

// hasRun reports whether workers of the group have run in this epoch.
func (p *planner) hasRun() bool { return p.current() && p.group.Level.Entered > 0 }

func (p *planner) deleteMissed(jobs []*workload.Job) (any bool) {
	for _, job := range jobs {
		if !job.Over {
			any = p.do(DeleteJob{Job: job, For: ForMissed}) || any
		}
	}
	return any
}

func missedText(missed []*workload.Job, led int) string {
	names := make([]string, len(missed))
	for i, job := range missed {
		names[i] = job.Name
	}
	return fmt.Sprintf("%d of %d Jobs were created without agents (%s), because the webhook was unreachable or does not apply to them",
		len(missed), len(missed)+led, some(names, maxNamed))
}
