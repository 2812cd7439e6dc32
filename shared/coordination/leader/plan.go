package leader

import (
	"slices"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/epoch"
	"github.com/holdfast-project/holdfast/shared/coordination/group"
	"github.com/holdfast-project/holdfast/shared/coordination/leader/forming"
	"github.com/holdfast-project/holdfast/shared/coordination/leader/workload"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
	"github.com/holdfast-project/holdfast/shared/recovering"
	"github.com/holdfast-project/holdfast/shared/series"
)

// Plan is what to do next. If it needs reads or has actions, it is followed by another plan that rests on them; else the group is as it
// should be.
type Plan struct {
	Rule    string // that made it
	Need    Need
	Actions []Action // idempotent, and independent of each other
	Err     error    // another process leads

	// To be reported once the actions have succeeded.
	Events []Event
	Counts []Count

	// Of the last plan of a reconcile:
	Group      *group.Summary       // nil: there is none
	Waits      map[forming.Kind]int // what workers wait for that have not joined for the first time
	Forms      bool                 // workers are still to join for the first time
	Restarting bool                 // a restart is in progress
	Over       bool                 // the owner wants no group
	Resync     time.Duration        // when to plan again though nothing is heard; 0: no need
}

// Need is what a plan has to know before it goes on. Reading objects is followed by reading the group, so that a leader that was replaced
// meanwhile does not act on them.
type Need struct {
	Missing  []int // units
	Holders  []string
	Finished []string // slots
	History  bool
	Nodes    []string
	Pods     []*workload.Pod
	Jobs     []*workload.Job
	Slots    []SlotNeed
}

// SlotNeed asks for all pods of a slot.
type SlotNeed struct {
	Slot  string
	Job   *workload.Job
	Index int
	Since []string // versions that have to be in the list; none: it is read as of now
	Twin  bool     // it goes to Reads.Twins
}

func (n *Need) empty() bool {
	return len(n.Missing)+len(n.Holders)+len(n.Finished)+len(n.Nodes)+len(n.Pods)+len(n.Jobs)+len(n.Slots) == 0 && !n.History
}

// Objects reports whether objects are to be read past the cache.
func (n *Need) Objects() bool { return len(n.Pods)+len(n.Jobs)+len(n.Slots) > 0 }

// Action is one thing to do. An action with a key is tried once in a reconcile.
type Action interface{ key() string }

// WriteGroup writes the group into the store. It reports false if the group has moved on.
type WriteGroup struct {
	group.Write
	Replaces bool // what is unreadable is dropped first
}

// DropGroup removes the group from the store.
type DropGroup struct{}

// Release takes a pod out of its slot, so that what may still run of it moves the group no more.
type Release struct {
	Unit int
	rounds.Slot
	PodName string
}

// Annotate writes annotations of the owner in one compare-and-set on the object as it was observed.
type Annotate struct {
	Epoch           *epoch.Record
	Charged         *int32
	Recovering      *recovering.State // the mark
	ClearRecovering bool
	History         *string
	Accounted       accountMemory // with the history
	Report          *string       // of the roster; empty: it is taken away
}

// SetConditions writes the conditions; nil ones are taken away.
type SetConditions struct{ InSync, Recovering *Condition }

// DeletePod deletes a pod, if it still is the one that was observed.
type DeletePod struct {
	Pod  *workload.Pod
	Slot string
	Why  string
	For  Purpose
	// Exactly: only as it was observed.
	Exactly bool
}

// Force reports whether the pod is given no time to end.
func (d DeletePod) Force() bool { return d.For == ForDead || d.For == ForTwin }

// Purpose of a deletion.
type Purpose string

// Purposes.
const (
	ForForming Purpose = "forming" // its worker has not joined for the first time
	ForRestart Purpose = "restart" // its worker does not come back
	ForFence   Purpose = "fence"   // it was released from its slot, and nobody else is there
	ForDead    Purpose = "dead"    // nothing of it runs any more
	ForTwin    Purpose = "twin"    // the Job controller has made one too
	ForEpoch   Purpose = "epoch"   // of a Job: it is of an earlier epoch
)

// DeleteJob deletes a Job and its pods; its owner makes it again.
type DeleteJob struct {
	Job  *workload.Job
	Slot string // for whose sake
	Why  string
	For  Purpose
}

// CreatePod makes a pod in place of lost ones.
type CreatePod struct {
	Slot  string
	Job   *workload.Job
	Index int
	Round Round
	Lost  []string // UIDs. Of two leaders that replace the same pods for the same round one succeeds.
	Retry bool     // there was one for the slot in this round already
}

// Round of a generation.
type Round struct{ Generation, Round int64 }

func (WriteGroup) key() string    { return "" }
func (DropGroup) key() string     { return "" }
func (Annotate) key() string      { return "" }
func (SetConditions) key() string { return "conditions" }
func (a Release) key() string     { return "release " + a.Pod + " of " + a.Name }
func (a DeletePod) key() string   { return "delete " + a.Pod.UID }
func (a DeleteJob) key() string   { return "delete " + a.Job.UID }
func (a CreatePod) key() string   { return "create " + a.Slot }

// Done is an action that was tried.
type Done struct {
	Action
	Result
}

// Result of an action.
type Result struct {
	Err     error
	Refused string        // the API server does not want the pod; it is left to its Job
	Moot    bool          // it was not necessary, or not possible any more
	Pod     *workload.Pod // that was created
}

// OK reports whether the action has changed something.
func (r Result) OK() bool { return r.Err == nil && r.Refused == "" && !r.Moot }

// Event is for people.
type Event struct {
	Warning      bool
	Reason, Note string
}

// Count is added to a metric.
type Count struct {
	Metric series.Metric
	Labels []string
	By     float64
}

// rule is one concern. The first that needs something, or has something to do, makes the plan.
type rule struct {
	name string
	plan func(*planner)
}

// forJobs are the rules for an owner whose Jobs make the pods, in the order in which they are tried.
var forJobs = []rule{
	{"unwanted", (*planner).dropUnwanted},      // the owner wants no group: drop it
	{"losses", (*planner).releaseLost},         // pods that were lost leave their slots
	{"generation", (*planner).restoreEpoch},    // the annotation is behind the store: write it again
	{"group", (*planner).writeGroup},           // the store's group becomes what the owner wants
	{"charge", (*planner).charge},              // restarts count towards maxRestarts
	{"timeout", (*planner).giveUpLate},         // a round that times out leads to full recreation
	{"recreation", (*planner).recreate},        // what cannot restart in place is recreated, or fails
	{"mark", (*planner).mark},                  // higher levels wait while a restart is in progress
	{"forming", (*planner).form},               // workers that have not joined for the first time
	{"stale Jobs", (*planner).deleteStaleJobs}, // a recreation has left them behind
	{"holders", (*planner).freeSlots},          // a pod that is gone holds its slot no longer
	{"leadership", (*planner).confirmLead},     // a leader that was replaced touches no pod
	{"twins", (*planner).giveWay},              // the Job controller was as quick
	{"replacement", (*planner).replaceLost},    // slots that have lost their pods get new ones
	{"dead nodes", (*planner).releaseDead},     // what cannot end any more is deleted by force
	{"repair", (*planner).repair},              // slots that hold a restart up
	{"fences", (*planner).deleteFenced},        // pods that can never join
	{"history", (*planner).account},            // restarts that have ended
	{"conditions", (*planner).setConditions},
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

// Acts reports whether another plan follows this one.
func (p Plan) Acts() bool { return !p.Need.empty() || len(p.Actions) > 0 }

// Record notes what became of an action. The next plan of the reconcile rests on it.
func (o *Observation) Record(m *Memory, a Action, r Result) {
	o.Done = append(o.Done, Done{a, r})
	m.tried(o, a, r)
}

// tried reports whether an action was tried in this reconcile.
func (o *Observation) tried(a Action) bool {
	key := a.key()
	return key != "" && slices.ContainsFunc(o.Done, func(d Done) bool { return d.key() == key })
}

// atOnce bounds how many slots one plan is about, so that what was read is fresh when it is acted on.
const atOnce = 16

// planner makes one plan.
type planner struct {
	*Observation
	memory *Memory
	now    time.Time
	rule   string
	plan   Plan

	wanted  *Wanted
	group   *group.Summary
	clock   *deadline // of the restart in progress
	forming string    // who has not joined for the first time
	late    string    // who is not back in a restart that takes long

	// Indexes of what was observed, made when they are asked for.
	bySlot   map[string][]*workload.Pod
	newestOf map[string]*workload.Pod
	byName   map[string]*workload.Job
}

func newPlanner(o *Observation, m *Memory, now time.Time) *planner {
	p := &planner{Observation: o, memory: m, now: now, wanted: o.Owner.Wanted}
	if o.Stored != nil {
		g := group.Summarize(o.Stored)
		p.group = &g
	}
	if o.Owner.Undecided {
		p.wanted = p.wantedUndecided()
	}
	timeout := o.Owner.Timeout
	if o.Owner.Roster != nil {
		timeout = o.Owner.Roster.Timeout
	}
	p.clock = m.clock(p.group, timeout, now)
	return p
}

// wantedUndecided is a group that stays as it is.
func (p *planner) wantedUndecided() *Wanted {
	if p.wanted == nil || p.group == nil || len(p.group.Stages) == 0 {
		return nil
	}
	w := *p.wanted
	w.Stages = p.group.Stages
	return &w
}

// do adds an action, unless it was tried before.
func (p *planner) do(a Action) bool {
	if p.tried(a) {
		return false
	}
	p.plan.Actions = append(p.plan.Actions, a)
	return true
}

func (p *planner) event(warning bool, reason, note string) {
	p.plan.Events = append(p.plan.Events, Event{warning, reason, note})
}

func (p *planner) count(m series.Metric, by float64, labels ...string) {
	p.plan.Counts = append(p.plan.Counts, Count{m, labels, by})
}

// lookIn asks for another plan though nothing may be heard.
func (p *planner) lookIn(d time.Duration) {
	if d = max(d, time.Millisecond); p.plan.Resync == 0 || d < p.plan.Resync {
		p.plan.Resync = d
	}
}

// spent reports whether the rule has had its time in this reconcile. The rest is for the next one, at once.
func (p *planner) spent() bool {
	if !p.Spent[p.rule] {
		return false
	}
	p.lookIn(time.Millisecond)
	return true
}

// current reports whether the store holds the group of this epoch, and workers are to run.
func (p *planner) current() bool {
	return p.wanted != nil && !p.wanted.Suspended && p.group != nil && p.group.Generation == int64(p.Owner.Epoch.Epoch)
}

// restarting reports whether a restart is in progress.
func (p *planner) restarting() bool {
	return p.group != nil && p.clock != nil && p.group.Phase == coordination.Restarting
}

// due reports whether something that costs was last done at least a period ago, and notes that it is done in this reconcile.
func (p *planner) due(last *time.Time, every time.Duration) bool {
	if !last.IsZero() && !last.Equal(p.Began) && p.Began.Sub(*last) < every {
		return false
	}
	*last = p.Began
	return true
}

// pods are the pods of each slot.
func (p *planner) pods() map[string][]*workload.Pod {
	if p.bySlot == nil {
		p.bySlot = make(map[string][]*workload.Pod, len(p.Pods))
		for _, pod := range p.Pods {
			p.bySlot[pod.Slot] = append(p.bySlot[pod.Slot], pod)
		}
	}
	return p.bySlot
}

// newest pod of a slot. One that was just lost stands for its slot until a newer one is there.
func (p *planner) newest(slot string) *workload.Pod {
	if p.newestOf == nil {
		p.newestOf = make(map[string]*workload.Pod, len(p.Pods))
		for _, lost := range p.Lost {
			p.addNewest(lost.Pod)
		}
		for _, pod := range p.Pods {
			p.addNewest(pod)
		}
	}
	return p.newestOf[slot]
}

func (p *planner) addNewest(pod *workload.Pod) {
	if known := p.newestOf[pod.Slot]; known == nil || !pod.Created.Before(known.Created) {
		p.newestOf[pod.Slot] = pod
	}
}

// missing are the slots that have not joined, of so many units; false: they have to be read first.
func (p *planner) missing(units ...int) ([]string, bool) {
	if p.Reads.MissingLevel != p.group.Level {
		p.Reads.Missing = nil
	}
	var all []string
	for _, u := range units {
		if unit := p.group.Units[u]; unit.Left || unit.Joined >= unit.Slots {
			continue
		}
		slots, known := p.Reads.Missing[u]
		if !known {
			p.plan.Need.Missing = append(p.plan.Need.Missing, u)
		}
		all = append(all, slots...)
	}
	return all, len(p.plan.Need.Missing) == 0
}

// awaited are the units that the restart, or the formation, waits for.
func (p *planner) awaited() []int {
	units := make([]int, p.group.Waited())
	for u := range units {
		units[u] = u
	}
	return units
}

// job finds a Job by its name.
func (p *planner) job(name string) *workload.Job {
	if p.byName == nil {
		p.byName = make(map[string]*workload.Job, len(p.Jobs))
		for i := range p.Jobs {
			p.byName[p.Jobs[i].Name] = &p.Jobs[i]
		}
	}
	return p.byName[name]
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
		p.lookIn(time.Millisecond) // the store has lost it during this reconcile
	}
	if p.clock != nil {
		p.lookIn(p.clock.Remaining(p.now) + time.Millisecond)
		p.lookIn(p.lookAgain())
	}
}
