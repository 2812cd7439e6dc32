package leader

import (
	"slices"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination/leader/ladder"
	"github.com/holdfast-project/holdfast/shared/coordination/leader/workload"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
)

// minResync and maxResync limit the resync interval while slots are being repaired.
const (
	minResync = 500 * time.Millisecond
	maxResync = 5 * time.Second
)

// repair repairs the slots that delay a restart, which costs less than recreating the group (package ladder). It reads the names of these slots from
// the store only if there is a reason: a share of the time has passed, a pod has been lost, or a Job has counted a lost pod as a success. If it
// deletes a Job, it does not delete the Job's pods separately.
func (p *planner) repair() {
	if p.clock == nil {
		return
	}
	if m := &p.memory.repairs; !m.began.Equal(p.Began) {
		miscounted := p.wanted != nil && slices.ContainsFunc(p.wanted.Finished, p.onlyEnded)
		if len(p.Lost) == 0 && p.ladder().RepairsIn() > 0 && !miscounted {
			return
		}
		missing, known := p.missing(p.awaited()...)
		if !known {
			return
		}
		*m = p.climb(missing)
	}
	if p.memory.repairs.incarnation != p.group.Level.Incarnation {
		return // the store has lost the group since
	}
	p.deleteJobs(p.memory.repairs.jobs)
	if !p.plan.Acts() {
		p.remove(p.memory.repairs.pods, ForRestart, p.stillHangs)
	}
}

// ladder returns the restart in progress as package ladder needs it.
func (p *planner) ladder() ladder.Round {
	return ladder.Round{
		Clock: *p.clock, Now: p.now,
		Size: p.group.Size, Missing: p.group.Size - p.group.Joined,
	}
}

// climb decides how to repair each missing slot.
func (p *planner) climb(missing []string) repairs {
	round := p.ladder()
	r := repairs{began: p.Began, incarnation: p.group.Level.Incarnation}
	jobs := map[string]bool{}
	var pods []victim
	for _, slot := range missing {
		if p.memory.created.in(p.round())[slot].arrives(p.Began) {
			continue
		}
		s := p.ladderSlot(slot)
		switch action := ladder.Decide(round, s); {
		case action.Scope == ladder.Pod, action.Scope == ladder.Job && p.seating().given[slot] != "":
			pods = append(pods, victim{slot: slot, pod: s.Pod, why: action.Why})
		case action.Scope == ladder.Job && p.alone():
		case action.Scope == ladder.Job && !jobs[s.Job.Name]:
			jobs[s.Job.Name] = true
			r.jobs = append(r.jobs, victim{slot: slot, job: s.Job, why: action.Why})
		}
	}
	for _, v := range pods {
		if name, _ := workload.JobOf(v.slot); !jobs[name] {
			r.pods = append(r.pods, v)
		}
	}
	return r
}

func (p *planner) ladderSlot(slot string) ladder.Slot {
	name, index := workload.JobOf(slot)
	s := ladder.Slot{Job: p.job(name), Pod: p.newest(slot)}
	s.Completed = s.Job != nil && s.Job.Completed.Has(index)
	if given := p.seating().given[slot] != ""; given || s.Pod != nil && p.worksIn(s.Pod) != slot {
		s.Pod, s.Job, s.Completed = p.seating().by[slot], nil, false // if the slot is assigned at all, it is assigned to a pod with another index
		if s.Pod != nil {
			s.Job = p.jobOf(s.Pod)
		}
	}
	return s
}

// stillHangs reports whether the live pod must still be deleted. The decision was based on the cache, which may not show yet that
// the worker has returned.
func (p *planner) stillHangs(v victim, live *workload.Pod) bool {
	if p.group.IsFenced(live.UID) {
		return !live.Deleting
	}
	s := p.ladderSlot(v.slot)
	s.Pod = live
	if s.Job == nil || live.Job != s.Job.UID {
		return false
	}
	scope := ladder.Decide(p.ladder(), s).Scope
	return scope == ladder.Pod || scope == ladder.Job && p.seating().given[v.slot] != ""
}

// deleteJobs deletes Jobs in the foreground, after releasing their pods from their slots. The owner's controller creates them
// again in the same epoch, so that the new pods join the round that is waiting for them.
func (p *planner) deleteJobs(victims []victim) {
	for _, v := range victims {
		if p.tried(DeleteJob{Job: v.job}) {
			continue
		}
		live, read := p.Reads.Jobs[v.job.Name]
		if !read {
			if len(p.plan.Need.Jobs) < atOnce && !p.spent() {
				p.plan.Need.Jobs = append(p.plan.Need.Jobs, v.job)
			}
			continue
		}
		if live == nil || live.UID != v.job.UID || live.Deleting {
			continue
		}
		fenced := true
		for index := range int(max(v.job.Pods, int64(v.job.Indexes))) {
			if pod := p.newest(v.job.Slot(index)); pod != nil {
				fenced = p.releasedFor(v.slot, p.slotOf(pod), pod.Name, rounds.Slot{}) && fenced
			}
		}
		if fenced {
			p.do(DeleteJob{Job: v.job, Slot: v.slot, Why: v.why, For: ForRestart})
		}
	}
	if len(p.plan.Need.Jobs) > 0 {
		p.plan.Actions = nil // delete all of them together, once all have been read
	}
}
