package leader

import (
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/epoch"
	"github.com/holdfast-project/holdfast/shared/coordination/group"
	"github.com/holdfast-project/holdfast/shared/coordination/leader/workload"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
	"github.com/holdfast-project/holdfast/shared/restart"
	"github.com/holdfast-project/holdfast/shared/series"
)

// atOnce limits the number of slots in one plan, so that the data is still fresh when the plan is executed.
const atOnce = 50

// planner makes one plan.
type planner struct {
	*Observation
	memory *Memory
	now    time.Time
	rule   string
	plan   Plan

	wanted  *group.Wanted
	refused string // why there is no group, although the owner asks for one
	group   *group.Summary
	clock   *deadline                // deadline of the restart in progress, nil if there is none
	forming string                   // text that names the workers that have not joined yet
	late    string                   // text that names the workers missing in a slow restart
	byName  map[string]*workload.Job // built on first use
	seats   *seats                   // likewise
	waiting []*workload.Pod          // likewise
	heirs   map[string]bool          // UIDs of the pods that are assigned slots in this plan
}

func newPlanner(o *Observation, m *Memory, now time.Time) *planner {
	p := &planner{Observation: o, memory: m, now: now, wanted: o.Owner.Wanted, refused: o.Owner.Refused, heirs: map[string]bool{}}
	if o.Stored != nil {
		g := group.Summarize(o.Stored)
		p.group = &g
		m.recheckHolders(o)
	}
	if p.wanted != nil && o.Owner.Undecided { // an existing group is left unchanged
		p.wanted = nil
		if p.group != nil && len(p.group.Stages) > 0 {
			w := *o.Owner.Wanted
			w.Stages = p.group.Stages
			p.wanted = &w
		}
	}
	p.clock = m.clock(p.group, o.Owner.Timeout, now)
	return p
}

// do adds an action, unless it was tried before. It reports whether it was added.
func (p *planner) do(a Action) bool {
	if p.tried(a) {
		return false
	}
	p.plan.Actions = append(p.plan.Actions, a)
	return true
}

// tried reports whether an action was tried in this reconcile.
func (p *planner) tried(a Action) bool { return p.keys[a.key()] }

func (p *planner) round() Round { return Round{p.group.Generation, p.group.Round} }

// onlyEnded reports whether a Job counts a slot as finished only because the worker exited with code 0 when its pod was deleted. Such a pod was
// released from the slot, which has had no other pod since.
func (p *planner) onlyEnded(slot string) bool {
	return slices.ContainsFunc(p.memory.seen.in(int64(p.Owner.Epoch.Epoch)).released, func(r rounds.Slot) bool {
		pod := p.newest(slot)
		return r.Name == slot && (pod == nil || pod.UID == r.Pod)
	})
}

// alone reports whether the owner is the only Job of its group.
func (p *planner) alone() bool { return p.Owner.Served != nil && p.Owner.Served.Alone }

// ownerKind returns the word that messages use for the owner.
func (p *planner) ownerKind() string {
	if p.alone() {
		return "Job"
	}
	return "JobSet"
}

// dated returns the epoch. If the owner's pods are not annotated with their epoch, it adds the creation time of the newest earlier pod.
func (p *planner) dated(next epoch.Record) *epoch.Record {
	if p.alone() {
		for _, pod := range p.Pods {
			next.After = max(next.After, pod.Created.Unix())
		}
	}
	return &next
}

// spentRestarts returns the number of restarts to write to the annotation: each round of this epoch and, in the Terminal phase, the failure
// for which no restart was left, which makes the count exceed the budget (KEP-876: "exceeds"). A closed group is not charged. The store
// does not open a round beyond the budget, so if a member forges a higher round, it counts only as the one failure that exceeds the budget.
func (p *planner) spentRestarts() int32 {
	if p.group.Phase == coordination.Closed {
		return p.Owner.Charged
	}
	charged := restart.Charged(p.Owner.Epoch.Base, p.group.Round)
	if p.group.Phase == coordination.Terminal {
		charged = restart.Charged(charged, 1)
	}
	return min(charged, p.Owner.Budget.Most())
}

// reportUsedUp emits an event that explains how the group ends. If the owner fails, known is appended to the event's text.
func (p *planner) reportUsedUp(cause, known string) {
	end := fmt.Sprintf("the %s fails%s", p.ownerKind(), known)
	if p.Owner.Served != nil && p.Owner.Served.Pods {
		end = "deleting all pods, so that their owner recovers the group"
	}
	p.event(true, EventUsedUp, fmt.Sprintf("%s, and all %d restarts are used up: %s", cause, p.Owner.Budget, end))
}

func (p *planner) event(warning bool, reason, note string) {
	p.plan.Events = append(p.plan.Events, Event{warning, reason, note})
}

func (p *planner) count(m series.Metric, by float64, labels ...string) {
	p.plan.Counts = append(p.plan.Counts, Count{m, labels, by})
}

// resyncIn requests another plan within d.
func (p *planner) resyncIn(d time.Duration) {
	if d = max(d, time.Millisecond); p.plan.Resync == 0 || d < p.plan.Resync {
		p.plan.Resync = d
	}
}

// spent reports whether the rule has used up its time in this reconcile. If it has, the rule continues in the next reconcile, which
// follows immediately.
func (p *planner) spent() bool {
	if !p.Spent[p.rule] {
		return false
	}
	p.resyncIn(time.Millisecond)
	return true
}

// current reports whether the store has the group of this epoch and the group's workers should run.
func (p *planner) current() bool {
	return p.wanted != nil && !p.wanted.Suspended && p.group != nil && p.group.Generation == int64(p.Owner.Epoch.Epoch)
}

// active reports whether the group is current and the store accepts its reports, because it is forming, running or restarting.
func (p *planner) active() bool { return p.current() && p.group.Level.Phase == rounds.Active }

// due reports whether the last run of an expensive check was at least one period ago. If so, it records that the check runs in
// this reconcile.
func (p *planner) due(last *time.Time, every time.Duration) bool {
	if !last.IsZero() && !last.Equal(p.Began) && p.Began.Sub(*last) < every {
		return false
	}
	*last = p.Began
	return true
}

// newest returns the newest pod of a slot.
func (p *planner) newest(slot string) *workload.Pod { return p.index().newest[slot] }

// missing returns the slots of the given units that have not joined, or false if they must be read first.
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

// awaited returns the units that the restart or the formation is waiting for.
func (p *planner) awaited() []int {
	units := make([]int, p.group.Waited())
	for u := range units {
		units[u] = u
	}
	return units
}

// job returns the Job with the given name, or nil.
func (p *planner) job(name string) *workload.Job {
	if p.byName == nil {
		p.byName = make(map[string]*workload.Job, len(p.Jobs))
		for _, job := range p.Jobs {
			p.byName[job.Name] = job
		}
	}
	return p.byName[name]
}

// write plans the next write of the group, if one is needed.
func (p *planner) write(want group.Wanted) {
	w, needed, err := group.Next(p.Stored, want, p.Incarnation)
	switch {
	case err != nil:
		p.plan.Err = err
	case needed:
		if p.Foreign != nil && !p.Owner.HasRoster {
			p.event(true, EventForeign, p.Foreign.Error()+"; discarding the group's data and restoring it from the agents; workers keep running")
		}
		p.do(WriteGroup{Write: w, Replaces: p.Foreign != nil})
	}
}

// podOf returns the pod with the given UID from the cache, or nil.
func (p *planner) podOf(uid string) *workload.Pod {
	if i := slices.IndexFunc(p.Pods, func(pod *workload.Pod) bool { return pod.UID == uid }); i >= 0 {
		return p.Pods[i]
	}
	return nil
}
