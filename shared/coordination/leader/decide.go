package leader

import "time"

// rule is one concern. The first that needs something, or has something to do, makes the plan.
type rule struct {
	name string
	plan func(*planner)
}

// forJobs are the rules for an owner whose Jobs make the pods, in the order in which they are tried.
var forJobs = []rule{
	{"claim", (*planner).claim},                // the owner is led by one installation
	{"missed", (*planner).leaveMissed},         // not all Jobs carry agents: the group is not led
	{"unwanted", (*planner).dropUnwanted},      // the owner wants no group: drop it
	{"follow", (*planner).follow},              // a controller that opens no epochs has emptied the group
	{"losses", (*planner).releaseLost},         // pods that were lost leave their slots
	{"generation", (*planner).restoreEpoch},    // the annotation is behind the store: write it again
	{"group", (*planner).writeGroup},           // the store's group becomes what the owner wants
	{"charge", (*planner).charge},              // restarts count towards maxRestarts
	{"timeout", (*planner).giveUpLate},         // a round that times out leads to full recreation
	{"recreation", (*planner).recreate},        // what cannot restart in place is recreated, or fails
	{"budget", (*planner).endSpent},            // a controller that counts no restarts in place does not fail its owner
	{"mark", (*planner).mark},                  // higher levels wait while a restart is in progress
	{"leadership", (*planner).confirmLead},     // a leader that was replaced touches no Job and no pod
	{"forming", (*planner).form},               // workers that have not joined for the first time
	{"stale Jobs", (*planner).deleteStaleJobs}, // a recreation has left them behind
	{"late Jobs", (*planner).moveLateJobs},     // a controller that opens no epochs has left them in an earlier one
	{"holders", (*planner).freeSlots},          // a pod that is gone holds its slot no longer
	{"twins", (*planner).giveWay},              // the Job controller was as quick
	{"replacement", (*planner).replaceLost},    // slots that have lost their pods get new ones
	{"dead nodes", (*planner).releaseDead},     // what cannot end any more is deleted by force
	{"repair", (*planner).repair},              // slots that hold a restart up
	{"fences", (*planner).deleteFenced},        // pods that can never join
	{"history", (*planner).account},            // restarts that have ended
	{"conditions", (*planner).setConditions},   // what the group is doing
}

// forRosters are the rules for an owner that says by a roster who is in the group.
var forRosters = []rule{
	{"unwanted", (*planner).dropUnwanted},
	{"members", (*planner).followRoster},
	{"report", (*planner).report},
}

// Decide plans what to do next. It is pure but for the memory of the group, which belongs to it.
func Decide(o *Observation, m *Memory, now time.Time) Plan {
	p := newPlanner(o, m, now)
	rules := forJobs
	if o.Owner.HasRoster {
		rules = forRosters
	}
	for _, r := range rules {
		p.rule = r.name
		r.plan(p)
		if p.plan.Err != nil || !p.plan.Need.empty() || len(p.plan.Actions) > 0 {
			p.plan.Rule = r.name
			return p.plan
		}
	}
	p.conclude()
	return p.plan
}

// Record notes what became of an action. The next plan of the reconcile rests on it.
func (o *Observation) Record(m *Memory, a Action, r Result) {
	o.note(Done{a, r})
	generation := int64(0)
	if o.Stored != nil {
		generation = o.Stored.State.Generation
	}
	m.record(a, r, generation, o.Began)
}

// conclude says what follows from a group that is as it should be.
func (p *planner) conclude() {
	p.plan.Group = p.group
	p.plan.Restarting = p.restarting()
	if p.Owner.HasRoster {
		p.concludeRoster()
		return
	}
	if p.wanted == nil {
		p.plan.Over, p.plan.Resync = true, 0
		return
	}
	if p.group == nil {
		p.resyncIn(time.Millisecond) // the store has lost it during this reconcile
	}
	if p.clock != nil {
		p.resyncIn(p.clock.Remaining(p.now) + time.Millisecond)
		p.resyncIn(p.repairResync())
	}
}
