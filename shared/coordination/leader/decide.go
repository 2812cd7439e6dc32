package leader

import (
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination/group"
)

// rule handles one concern. The first rule that needs a read or has an action makes the plan.
type rule struct {
	name string
	plan func(*planner)
}

// forJobs are the rules for owners whose pods are created by Jobs, in the order in which they are tried. Each rule is in
// rule_NAME.go, except for these:
//
//	rule_group.go        unwanted, generation, timeout
//	rule_jobs.go         stale Jobs, late Jobs
//	rule_losses.go       leadership
//	rule_nodes.go        dead nodes
//	rule_served.go       claim, follow, budget
//	rule_spares.go       given
var forJobs = []rule{
	{"claim", (*planner).claim},                // only one installation leads the owner
	{"missed", (*planner).leaveMissed},         // if some Jobs have no agents, the group is not managed
	{"unwanted", (*planner).dropUnwanted},      // a group that its owner no longer wants is dropped
	{"follow", (*planner).follow},              // if a controller without epochs has deleted the pods, the next epoch is opened
	{"losses", (*planner).releaseLost},         // lost pods are released from their slots
	{"generation", (*planner).restoreEpoch},    // if the annotation is older than the store, it is restored
	{"group", (*planner).writeGroup},           // the group in the store is changed to what the owner wants
	{"charge", (*planner).charge},              // restarts count towards maxRestarts
	{"timeout", (*planner).giveUpLate},         // if a restart times out, the group is recreated
	{"recreation", (*planner).recreate},        // a group that cannot restart in place is recreated or fails
	{"budget", (*planner).endSpent},            // the leader fails an owner whose controller does not count in-place restarts
	{"mark", (*planner).mark},                  // higher levels wait while a restart is in progress
	{"leadership", (*planner).confirmLead},     // a leader that has been replaced does not change Jobs or pods
	{"given", (*planner).keepGiven},            // assigned slots are recorded both in the store and on the pods
	{"forming", (*planner).form},               // workers that have not joined yet since the group was opened
	{"stale Jobs", (*planner).deleteStaleJobs}, // Jobs of an earlier epoch
	{"late Jobs", (*planner).moveLateJobs},     // Jobs that a controller without epochs left in an earlier epoch
	{"holders", (*planner).freeSlots},          // slots held by pods that are gone
	{"spares", (*planner).giveSlots},           // slots that have lost their pods are assigned to waiting pods
	{"replacement", (*planner).replaceLost},    // slots that have lost their pods get new pods
	{"dead nodes", (*planner).releaseDead},     // pods that cannot terminate are force-deleted
	{"repair", (*planner).repair},              // slots that delay a restart are repaired
	{"fences", (*planner).deleteFenced},        // pods that can never join are deleted
	{"history", (*planner).account},            // restarts that have ended are added to the history
	{"conditions", (*planner).setConditions},   // the phase of the group
}

// forRosters are the rules for owners that list the members of the group in a roster (rule_roster.go).
var forRosters = []rule{
	{"unwanted", (*planner).dropUnwanted},
	{"members", (*planner).followRoster},
	{"report", (*planner).report},
}

// Decide plans what to do next. It is pure, except that it updates the group's Memory.
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

// Record records the result of an action for the next plan of the same reconcile.
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
			m.seen.release(o.Stored.State.Generation, a.Slot)
		}
	case WriteGroup:
		if r.OK() && a.Reason == group.Opens && a.State.Round > 0 {
			m.recoveredAt = o.Began
		}
	case CreatePod:
		slots := m.created.in(a.Round)
		slots[a.Slot] = replacements{slots[a.Slot].created + 1, o.Began, r.OK()}
	}
}

// conclude sets the results of a plan without further reads or actions.
func (p *planner) conclude() {
	p.plan.Group = p.group
	switch {
	case p.Owner.HasRoster:
		p.plan.Over = p.Owner.Roster == nil
	case p.wanted == nil:
		p.plan.Over, p.plan.Resync = true, 0
		return
	case p.group == nil:
		p.resyncIn(time.Millisecond) // the store has lost the group during this reconcile
	case p.clock != nil && p.ladder().RepairsIn() > 0:
		p.resyncIn(p.ladder().RepairsIn() + time.Millisecond)
	case p.clock != nil:
		p.resyncIn(min(max(p.Owner.Timeout/12, minResync), maxResync))
	}
	if p.clock != nil && !p.clock.Passed(p.now) {
		p.resyncIn(p.clock.Remaining(p.now) + time.Millisecond)
	}
}
