package orchestrator

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/group"
	"github.com/holdfast-project/holdfast/shared/coordination/leader"
	"github.com/holdfast-project/holdfast/shared/coordination/leader/forming"
)

// ownerKey names an owner.
type ownerKey struct {
	kind string
	types.NamespacedName
}

// Groups are the groups that this process leads, by the UID of the owner.
type Groups struct {
	clock   clock.PassiveClock
	mu      sync.Mutex
	byUID   map[types.UID]*groupState
	byOwner map[ownerKey]map[types.UID]bool // an owner may be deleted and created again
	sum     float64                         // worker-seconds in sync, up to the last reconcile of each group
}

// NewGroups knows no group.
func NewGroups(clock clock.PassiveClock) *Groups {
	return &Groups{clock: clock, byUID: map[types.UID]*groupState{}, byOwner: map[ownerKey]map[types.UID]bool{}}
}

// groupState is all that this process keeps of a group. What a new leader has to do without is listed at leader.Memory; besides, the losses that
// the watch has seen are found again by looking at what is there, and worker-seconds since the last reconcile are not counted.
type groupState struct {
	owner  ownerKey
	memory leader.Memory // of its reconciles, one at a time

	restarting, forms atomic.Bool // for the pod watch

	// Of a group that pods declare: those without agents, when they were listed last. They belong to its reconciles, too.
	missed       []leader.Missed
	missedListed time.Time

	// With the lock of Groups:
	losses map[string]leader.Loss // by the pod's UID
	phase  coordination.Phase     // as it is counted in a metric; empty: there is no group
	waits  map[forming.Kind]int   // likewise
	use    use
}

// use is what the workers of a group do since the last reconcile.
type use struct {
	running, missing int64
	since            time.Time
}

// of returns the state of an owner. That of another owner that had its name before is dropped.
func (g *Groups) of(owner ownerKey, uid types.UID, m *Metrics, now time.Time) *groupState {
	g.mu.Lock()
	defer g.mu.Unlock()
	for before := range g.byOwner[owner] {
		if before != uid {
			g.drop(before, m, now)
		}
	}
	return g.add(owner, uid)
}

// add is called with the lock held.
func (g *Groups) add(owner ownerKey, uid types.UID) *groupState {
	if g.byUID[uid] == nil {
		g.byUID[uid] = &groupState{owner: owner, losses: map[string]leader.Loss{}}
		if g.byOwner[owner] == nil {
			g.byOwner[owner] = map[types.UID]bool{}
		}
		g.byOwner[owner][uid] = true
	}
	return g.byUID[uid]
}

// forget drops what is known of an owner that has no group, or is gone.
func (g *Groups) forget(owner ownerKey, m *Metrics, now time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for uid := range g.byOwner[owner] {
		g.drop(uid, m, now)
	}
}

// drop is called with the lock held.
func (g *Groups) drop(uid types.UID, m *Metrics, now time.Time) {
	one := g.byUID[uid]
	g.measure(one, nil, nil, m, now)
	delete(g.byUID, uid)
	if delete(g.byOwner[one.owner], uid); len(g.byOwner[one.owner]) == 0 {
		delete(g.byOwner, one.owner)
	}
}

// get returns nil for a group that is not known.
func (g *Groups) get(uid types.UID) *groupState {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.byUID[uid]
}

// owners are those of the kind that have the group; of all groups if uid is empty.
func (g *Groups) owners(uid types.UID) []ownerKey {
	g.mu.Lock()
	defer g.mu.Unlock()
	var list []ownerKey
	for known, one := range g.byUID {
		if uid == "" || uid == known {
			list = append(list, one.owner)
		}
	}
	return list
}

// note keeps a loss until the next reconcile.
func (g *Groups) note(owner ownerKey, uid types.UID, one leader.Loss) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.add(owner, uid).losses[one.Pod.UID] = one
}

// putBack notes losses again that a reconcile has not acted on. What was seen of a pod meanwhile is newer.
func (g *Groups) putBack(state *groupState, losses []leader.Loss) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, one := range losses {
		if _, newer := state.losses[one.Pod.UID]; !newer {
			state.losses[one.Pod.UID] = one
		}
	}
}

// drain returns the losses that were noted, ordered by slot, and forgets them.
func (g *Groups) drain(state *groupState) []leader.Loss {
	g.mu.Lock()
	defer g.mu.Unlock()
	var list []leader.Loss
	for _, one := range state.losses {
		list = append(list, one)
	}
	clear(state.losses)
	slices.SortFunc(list, func(a, b leader.Loss) int {
		return cmp.Or(cmp.Compare(a.Pod.Slot, b.Pod.Slot), a.Pod.Created.Compare(b.Pod.Created), cmp.Compare(a.Pod.UID, b.Pod.UID))
	})
	return list
}

// observed brings the metrics of a group up to date; nil: there is none. Only workers that Jobs make are counted.
func (g *Groups) observed(state *groupState, plan *leader.Plan, jobs bool, m *Metrics, now time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if jobs {
		g.measure(state, plan.Group, plan.Waits, m, now)
	} else {
		state.countPhase(plan.Group, m)
	}
}

// measure is called with the lock held.
func (g *Groups) measure(one *groupState, s *group.Summary, waits map[forming.Kind]int, m *Metrics, now time.Time) {
	g.sum += one.use.seconds(now)
	before := one.use
	one.use = useOf(s, now)
	m.outOfSync.Add(float64(one.use.missing - before.missing))
	for _, kind := range forming.Kinds {
		if one.waits[kind] != waits[kind] {
			m.waitingToJoin.WithLabelValues(string(kind)).Add(float64(waits[kind] - one.waits[kind]))
		}
	}
	one.waits = waits
	one.countPhase(s, m)
}

func (s *groupState) countPhase(g *group.Summary, m *Metrics) {
	before := s.phase
	if s.phase = ""; g != nil {
		s.phase = g.Phase
	}
	if before != "" {
		m.groups.WithLabelValues(string(before)).Dec()
	}
	if s.phase != "" {
		m.groups.WithLabelValues(string(s.phase)).Inc()
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

// Seconds is all worker-seconds in sync up to now.
func (g *Groups) Seconds() float64 {
	now := g.clock.Now()
	g.mu.Lock()
	defer g.mu.Unlock()
	sum := g.sum
	for _, one := range g.byUID {
		sum += one.use.seconds(now)
	}
	return sum
}
