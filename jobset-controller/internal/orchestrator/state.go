package orchestrator

import (
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/holdfast-project/holdfast/jobset-controller/internal/orchestrator/forming"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/orchestrator/replace"
	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/group"
	"github.com/holdfast-project/holdfast/shared/grace"
)

// groupState is what this process knows of one group beyond what the API server and the store hold. A new leader begins without it:
//
//   - restart: the clock of a restart starts again, so that a time-out is late and never early; its late workers are read again
//   - formation: one event is repeated, and the pods of a step may be deleted once more
//   - made: one pod too many is tried for a slot
//   - released: the slots of such pods are freed again when a new pod asks for one, if the store has lost its data as well
//   - holdersKnown: the store is asked once about the slots of all pods
//   - holdersChecked, fencesChecked, nodesChecked: something that costs is checked early
//   - account: the history is read once more; which restarts were counted is in the JobSet's annotation
//   - use: worker-seconds since the last reconcile are not counted
//
// Only reconciles of the owner use it, one at a time, but for what is atomic.
type groupState struct {
	phase   coordination.Phase // as it is counted in a metric; empty: there is no group
	restart *restartMemory     // nil: none is in progress
	formation
	made    roundPods
	account accountMemory
	use     use

	released releasedPods

	holdersKnown                                time.Time // pods created before hold their slots
	holdersChecked, fencesChecked, nodesChecked time.Time

	restarting, forms atomic.Bool // for the pod watch
}

// use is what the workers of a group do since the last reconcile.
type use struct {
	running, missing int64
	since            time.Time
}

// groupStates are those of all groups that this process leads, by the UID of the owner.
type groupStates struct {
	mu    sync.Mutex
	byUID map[types.UID]*groupState
	uids  map[types.NamespacedName]types.UID // owners that were reconciled: they may be deleted and created again
	sum   float64                            // worker-seconds in sync, up to the last reconcile of each group
}

// of returns the state of an owner. That of another owner that had its name before is dropped.
func (m *groupStates) of(name types.NamespacedName, uid types.UID, now time.Time) *groupState {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.byUID == nil {
		m.byUID, m.uids = map[types.UID]*groupState{}, map[types.NamespacedName]types.UID{}
	}
	if before, known := m.uids[name]; known && before != uid {
		m.drop(before, now)
	}
	m.uids[name] = uid
	if m.byUID[uid] == nil {
		m.byUID[uid] = &groupState{}
	}
	return m.byUID[uid]
}

// forget drops the state of an owner that has no group, or is gone, and returns its UID.
func (m *groupStates) forget(name types.NamespacedName, now time.Time) types.UID {
	m.mu.Lock()
	defer m.mu.Unlock()
	uid := m.uids[name]
	m.drop(uid, now)
	delete(m.uids, name)
	return uid
}

// drop is called with the lock held.
func (m *groupStates) drop(uid types.UID, now time.Time) {
	if one := m.byUID[uid]; one != nil {
		m.observe(one, nil, now)
		one.formation.count(nil)
		delete(m.byUID, uid)
	}
}

// observed brings the metrics of a group up to date; nil: there is none.
func (m *groupStates) observed(one *groupState, g *group.Summary, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.observe(one, g, now)
}

// observe is called with the lock held.
func (m *groupStates) observe(one *groupState, g *group.Summary, now time.Time) {
	m.sum += one.use.seconds(now)
	before := one.use
	one.use = useOf(g, now)
	outOfSync.Add(float64(one.use.missing - before.missing))
	one.countPhase(g)
}

// observedPhase is observed for groups whose workers are not counted.
func (m *groupStates) observedPhase(one *groupState, g *group.Summary) {
	m.mu.Lock()
	defer m.mu.Unlock()
	one.countPhase(g)
}

func (m *groupState) countPhase(g *group.Summary) {
	before := m.phase
	if m.phase = ""; g != nil {
		m.phase = g.Phase
	}
	if before != "" {
		groups.WithLabelValues(string(before)).Dec()
	}
	if m.phase != "" {
		groups.WithLabelValues(string(m.phase)).Inc()
	}
}

func useOf(g *group.Summary, now time.Time) use {
	u := use{since: now}
	if g == nil {
		return u
	}
	switch g.Phase {
	case coordination.Running:
		u.running = g.Size - g.Done
	case coordination.Forming, coordination.Restarting:
		u.missing = g.Size - g.Joined
	}
	return u
}

func (u use) seconds(now time.Time) float64 {
	return float64(u.running) * max(0, now.Sub(u.since).Seconds())
}

// seconds is all worker-seconds in sync up to now.
func (m *groupStates) seconds(now time.Time) float64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	sum := m.sum
	for _, one := range m.byUID {
		sum += one.use.seconds(now)
	}
	return sum
}

// restarting reports whether a round of the owner's group is in progress.
func (m *groupStates) restarting(uid types.UID) bool {
	one := m.get(uid)
	return one != nil && one.restarting.Load()
}

// forms reports whether workers of the owner are still to join for the first time.
func (m *groupStates) forms(uid types.UID) bool {
	one := m.get(uid)
	return one != nil && one.forms.Load()
}

func (m *groupStates) get(uid types.UID) *groupState {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.byUID[uid]
}

// due reports whether something that costs was last done at least a period ago, and notes that it is done now.
func due(last *time.Time, every time.Duration, now time.Time) bool {
	if !last.IsZero() && now.Sub(*last) < every {
		return false
	}
	*last = now
	return true
}

// dueLater is due, but the first time is a whole period away.
func dueLater(last *time.Time, every time.Duration, now time.Time) bool {
	if last.IsZero() {
		*last = now
		return false
	}
	return due(last, every, now)
}

// restartMemory is about the restart in progress.
type restartMemory struct {
	phase        coordination.Phase
	epoch, round int64
	since        time.Time // this process first saw it
	late         string    // who was not back when it was asked for
	asked        bool
}

// clock returns the deadline of the restart in progress, nil if there is none. No clock of another machine is trusted. It stands still while
// nothing but data is missing.
func (m *groupState) clock(g group.Summary, timeout time.Duration, now time.Time) *grace.Deadline {
	timed := g.Phase == coordination.Restarting
	m.restarting.Store(timed)
	if !timed {
		m.restart = nil
		return nil
	}
	r := m.restart
	stands := r != nil && onlyCollects(g) && now.Sub(r.since) >= timeout/4 // before the first repair
	if r == nil || r.phase != g.Phase || r.epoch != g.Generation || r.round != g.Round || stands {
		m.restart = &restartMemory{phase: g.Phase, epoch: g.Generation, round: g.Round, since: now}
	}
	return &grace.Deadline{Start: m.restart.since, Period: timeout}
}

// endRestart forgets the restart in progress.
func (m *groupState) endRestart() {
	m.restart = nil
	m.restarting.Store(false)
}

// formation is about steps that wait for workers to join for the first time.
type formation struct {
	epoch    int64
	answered map[int64]time.Time // when pods of a step were deleted last
	named    map[int64]bool      // the steps of which an event has named the workers
	waits    map[forming.Kind]int
}

// in returns the formation of an epoch.
func (f *formation) in(epoch int64) *formation {
	if f.epoch != epoch || f.answered == nil {
		f.epoch, f.answered, f.named = epoch, map[int64]time.Time{}, map[int64]bool{}
	}
	return f
}

// name reports whether the workers of a step are to be named by an event: once for each epoch.
func (f *formation) name(step int64) bool {
	before := f.named[step]
	f.named[step] = true
	return !before
}

// count brings the metric up to date.
func (f *formation) count(waits map[forming.Kind]int) {
	for _, kind := range forming.Kinds {
		if f.waits[kind] != waits[kind] {
			waitingToJoin.WithLabelValues(string(kind)).Add(float64(waits[kind] - f.waits[kind]))
		}
	}
	f.waits = waits
}

// endFormation forgets it.
func (m *groupState) endFormation() {
	m.formation.count(nil)
	m.formation = formation{}
	m.forms.Store(false)
}

// roundPods are the pods that were made for the slots of a round.
type roundPods struct {
	epoch, round int64
	slots        map[string]replace.Pace
}

func (p *roundPods) in(g *group.Summary) map[string]replace.Pace {
	if p.slots == nil || p.epoch != g.Generation || p.round != g.Round {
		*p = roundPods{g.Generation, g.Round, map[string]replace.Pace{}}
	}
	return p.slots
}

// wait is how long no new pod is made for a slot.
func (p *roundPods) wait(s *scope, slot string) time.Duration {
	return max(0, p.in(s.group)[slot].Due().Sub(s.now))
}

// note counts a pod that is being made.
func (p *roundPods) note(s *scope, slot string) {
	slots := p.in(s.group)
	slots[slot] = replace.Pace{Made: slots[slot].Made + 1, Last: s.now}
}

// first reports whether no more than one pod was tried for a slot.
func (p *roundPods) first(s *scope, slot string) bool { return p.in(s.group)[slot].Made <= 1 }

// onlyCollects reports whether the store has lost the group, and nobody is known to wait for those that have not joined again: an agent that
// is late is no reason to stop workers that run.
func onlyCollects(g group.Summary) bool {
	return g.Record.Cause.Kind == coordination.KindRecovery && !g.Died && (g.Runs || g.Joined == 0)
}
