package leader

import (
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/epoch"
	"github.com/holdfast-project/holdfast/shared/coordination/group"
	"github.com/holdfast-project/holdfast/shared/coordination/leader/workload"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
	"github.com/holdfast-project/holdfast/shared/series"
)

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
	refused string // why there is no group, though the owner asks for one
	group   *group.Summary
	clock   *deadline                // of the restart in progress
	forming string                   // who has not joined for the first time
	late    string                   // who is not back in a restart that takes long
	byName  map[string]*workload.Job // made when it is asked for
}

func newPlanner(o *Observation, m *Memory, now time.Time) *planner {
	p := &planner{Observation: o, memory: m, now: now, wanted: o.Owner.Wanted, refused: o.Owner.Refused}
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

// alone reports whether the owner is the only Job of its group.
func (p *planner) alone() bool { return p.Owner.Served != nil && p.Owner.Served.Alone }

// ownerKind and recreated name the owner, and what a full recreation deletes.
func (p *planner) ownerKind() string {
	if p.alone() {
		return "Job"
	}
	return "JobSet"
}

func (p *planner) recreated() string {
	if p.alone() {
		return "pods"
	}
	return "Jobs"
}

// dated is an epoch that is being opened, with the time of the newest pod before it if pods do not say their epoch.
func (p *planner) dated(next epoch.Record) *epoch.Record {
	if p.alone() {
		for _, pod := range p.Pods {
			next.After = max(next.After, pod.Created.Unix())
		}
	}
	return &next
}

func (p *planner) event(warning bool, reason, note string) {
	p.plan.Events = append(p.plan.Events, Event{warning, reason, note})
}

func (p *planner) count(m series.Metric, by float64, labels ...string) {
	p.plan.Counts = append(p.plan.Counts, Count{m, labels, by})
}

// resyncIn asks for another plan after d, though no event may come.
func (p *planner) resyncIn(d time.Duration) {
	if d = max(d, time.Millisecond); p.plan.Resync == 0 || d < p.plan.Resync {
		p.plan.Resync = d
	}
}

// spent reports whether the rule has had its time in this reconcile. The rest is for the next one, at once.
func (p *planner) spent() bool {
	if !p.Spent[p.rule] {
		return false
	}
	p.resyncIn(time.Millisecond)
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

// newest pod of a slot.
func (p *planner) newest(slot string) *workload.Pod { return p.index().newest[slot] }

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

// write plans the next write of the group, if it needs one.
func (p *planner) write(want group.Wanted) {
	w, needed, err := group.Next(p.Stored, want, p.Incarnation)
	switch {
	case err != nil:
		p.plan.Err = err
	case needed:
		if p.Foreign != nil && !p.Owner.HasRoster {
			p.event(true, EventForeign, p.Foreign.Error()+"; the group's data are dropped and collected again from the agents, no worker is stopped for it")
		}
		p.do(WriteGroup{Write: w, Replaces: p.Foreign != nil})
	}
}

// released reports whether the group listens to a pod no more. If it does, the pod is released from its slot; what follows is for the next plan.
func (p *planner) released(slot rounds.Slot, name string) bool {
	return p.releasedFor(slot.Name, slot, name)
}

// releasedFor is released for the sake of another slot, whose failure the store then names.
func (p *planner) releasedFor(failed string, slot rounds.Slot, name string) bool {
	unit, found := p.group.UnitOf(slot.Name)
	if !found || p.group.Units[unit].Left || p.group.IsFenced(slot.Pod) {
		return true
	}
	p.do(Release{unit, slot, name, failed})
	return false
}

func slotOf(pod *workload.Pod) rounds.Slot { return rounds.Slot{Name: pod.Slot, Pod: pod.UID} }

// remove takes pods through a read past the cache, the release from their slots and their deletion, so many at a time. The release comes first,
// so that a worker that exits 0 when it is stopped does not count as finished. still decides on what the API server has; a victim with a Job needs
// that Job as well.
func (p *planner) remove(victims []victim, purpose Purpose, still func(victim, *workload.Pod) bool) {
	var read, unread []victim
	for _, v := range victims {
		switch {
		case p.tried(DeletePod{Pod: v.pod}):
		case !p.isRead(v):
			unread = append(unread, v)
		case p.stands(v, still):
			read = append(read, v)
		}
	}
	if len(read) == 0 {
		if len(unread) > 0 && !p.spent() {
			p.readVictims(unread[:min(len(unread), atOnce)])
		}
		return
	}
	for _, v := range read {
		if p.released(slotOf(v.pod), v.pod.Name) {
			p.do(DeletePod{Pod: p.Reads.Pods[v.pod.Name], Slot: v.slot, Why: v.why, For: purpose})
		}
	}
}

func (p *planner) isRead(v victim) bool {
	_, pod := p.Reads.Pods[v.pod.Name]
	if v.job == nil {
		return pod
	}
	_, job := p.Reads.Jobs[v.job.Name]
	return pod && job
}

// stands reports whether a pod still is the one that was decided on.
func (p *planner) stands(v victim, still func(victim, *workload.Pod) bool) bool {
	live := p.Reads.Pods[v.pod.Name]
	if live == nil || live.UID != v.pod.UID || live.Job != v.pod.Job || (v.job != nil && !p.jobStands(v.job)) {
		return false
	}
	return still(v, live)
}

// jobStands reports whether a Job is there as the API server has it; one that is being deleted takes its pods with it.
func (p *planner) jobStands(job *workload.Job) bool {
	live := p.Reads.Jobs[job.Name]
	return live != nil && live.UID == job.UID && !live.Deleting
}

func (p *planner) readVictims(victims []victim) {
	jobs := map[string]bool{}
	for _, v := range victims {
		p.plan.Need.Pods = append(p.plan.Need.Pods, v.pod)
		if v.job != nil && !jobs[v.job.Name] {
			jobs[v.job.Name] = true
			p.plan.Need.Jobs = append(p.plan.Need.Jobs, v.job)
		}
	}
}
