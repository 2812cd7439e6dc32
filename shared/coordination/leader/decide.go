package leader

import (
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination/group"
)

// rule is one concern. The first rule that needs a read or has an action makes the plan.
type rule struct {
	name string
	plan func(*planner)
}

// forJobs are the rules for an owner whose pods Jobs create, in the order in which they are tried. A rule is in rule_NAME.go, except
// for these:
//
//	rule_group.go        unwanted, generation, timeout
//	rule_jobs.go         stale Jobs, late Jobs
//	rule_losses.go       leadership
//	rule_nodes.go        dead nodes
//	rule_replacement.go  twins
//	rule_served.go       claim, follow, budget
//	rule_spares.go       given
var forJobs = []rule{
	{"claim", (*planner).claim},                // one installation leads the owner
	{"missed", (*planner).leaveMissed},         // not all Jobs have agents, so the group is not managed
	{"unwanted", (*planner).dropUnwanted},      // the owner wants no group: drop it
	{"follow", (*planner).follow},              // a controller that opens no epochs has emptied the group
	{"losses", (*planner).releaseLost},         // lost pods are released from their slots
	{"generation", (*planner).restoreEpoch},    // the annotation is older than the store and is restored
	{"group", (*planner).writeGroup},           // the group in the store becomes what the owner wants
	{"charge", (*planner).charge},              // restarts count towards maxRestarts
	{"timeout", (*planner).giveUpLate},         // a restart that times out leads to a full recreation
	{"recreation", (*planner).recreate},        // a group that cannot restart in place is recreated, or fails
	{"budget", (*planner).endSpent},            // an owner whose controller does not count in-place restarts is failed by the leader
	{"mark", (*planner).mark},                  // higher levels wait while a restart is in progress
	{"leadership", (*planner).confirmLead},     // a leader that was replaced changes no Job and no pod
	{"given", (*planner).keepGiven},            // slots that were given to pods are known in the store and on the pods
	{"forming", (*planner).form},               // workers that have not joined for the first time
	{"stale Jobs", (*planner).deleteStaleJobs}, // Jobs of an earlier epoch
	{"late Jobs", (*planner).moveLateJobs},     // Jobs that a controller without epochs has left in an earlier epoch
	{"holders", (*planner).freeSlots},          // slots whose holder is gone
	{"spares", (*planner).giveSlots},           // slots that have lost their pods are given to pods that wait
	{"twins", (*planner).giveWay},              // the Job controller has created a pod for the same slot
	{"replacement", (*planner).replaceLost},    // slots that have lost their pods get new pods
	{"dead nodes", (*planner).releaseDead},     // pods that can no longer end are force-deleted
	{"repair", (*planner).repair},              // slots that delay a restart
	{"fences", (*planner).deleteFenced},        // pods that can never join
	{"history", (*planner).account},            // restarts that have ended
	{"conditions", (*planner).setConditions},   // the phase of the group
}

// forRosters are the rules for an owner that lists the members of the group in a roster (rule_roster.go).
var forRosters = []rule{
	{"unwanted", (*planner).dropUnwanted},
	{"members", (*planner).followRoster},
	{"report", (*planner).report},
}

// Decide plans what to do next. It is pure, except that it updates the memory of the group.
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

// Record records the result of an action. The next plan of the reconcile takes it into account.
func (o *Observation) Record(m *Memory, a Action, r Result) {
	if o.keys == nil {
		o.keys = map[string]bool{}
	}
	o.Done = append(o.Done, Done{a, r})
	if key := a.key(); key != "" {
		o.keys[key] = true
	}
	switch a := a.(type) {
	case Release:
		if r.OK() && o.Stored != nil && a.Pod != "" {
			m.released.note(o.Stored.State.Generation, a.Slot)
		}
	case WriteGroup:
		if r.OK() && a.Reason == group.Opens && a.State.Round > 0 {
			m.recoveredAt = o.Began
		}
	case CreatePod:
		m.created.note(a.Round, a.Slot, o.Began, r.OK())
	}
}

// conclude sets the results of a plan that has nothing left to do.
func (p *planner) conclude() {
	p.plan.Group = p.group
	switch {
	case p.Owner.HasRoster:
		p.plan.Over = p.Owner.Roster == nil
	case p.wanted == nil:
		p.plan.Over, p.plan.Resync = true, 0
		return
	case p.group == nil:
		p.resyncIn(time.Millisecond) // the store has lost it during this reconcile
	case p.clock != nil:
		p.resyncIn(p.repairResync())
	}
	if p.clock != nil && !p.clock.Passed(p.now) {
		p.resyncIn(p.clock.Remaining(p.now) + time.Millisecond)
	}
}
