package orchestrator

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/holdfast-project/holdfast/shared/bootstrap/meter"
	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/leader"
	"github.com/holdfast-project/holdfast/shared/coordination/leader/forming"
	"github.com/holdfast-project/holdfast/shared/series"
)

type ownerKey struct {
	kind string
	types.NamespacedName
}

// Groups holds the groups that this process leads, by the UID of the owner, and the metrics about them.
type Groups struct {
	clock   clock.PassiveClock
	mu      sync.Mutex
	byUID   map[types.UID]*groupState
	byOwner map[ownerKey]map[types.UID]bool // an owner may be deleted and recreated
	sum     float64                         // worker-seconds in sync, up to the last reconcile of each group
}

func NewGroups(clock clock.PassiveClock) *Groups {
	return &Groups{clock: clock, byUID: map[types.UID]*groupState{}, byOwner: map[ownerKey]map[types.UID]bool{}}
}

// groupState holds everything that this process keeps about a group. leader.Memory documents what a new leader does not
// know. In addition, a new leader has to list the pods to find losses that the watch had observed, and does not count
// the worker-seconds since the last reconcile.
type groupState struct {
	owner  ownerKey
	memory leader.Memory // used by the group's reconciles, which never overlap

	restarting, forms atomic.Bool // read by the pod watch

	// For a group declared by its pods: the pods without agents when they were last listed. Used only by its
	// reconciles.
	missed       []leader.Missed
	missedListed time.Time

	// Guarded by Groups.mu:
	losses map[string]leader.Loss // by the pod's UID
	use    use
}

// use is the state of a group's workers as of the last reconcile.
type use struct {
	phase            coordination.Phase // empty if there is no group
	running, missing int64
	waits            map[forming.Kind]int
	since            time.Time
}

// of returns the state of an owner. It drops the state of an earlier owner with the same name.
func (g *Groups) of(owner ownerKey, uid types.UID) *groupState {
	g.mu.Lock()
	defer g.mu.Unlock()
	for before := range g.byOwner[owner] {
		if before != uid {
			g.drop(before)
		}
	}
	return g.add(owner, uid)
}

// add returns the state of an owner, creating it if necessary. The caller must hold the lock.
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

// forget drops the state of an owner that has no group or was deleted.
func (g *Groups) forget(owner ownerKey) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for uid := range g.byOwner[owner] {
		g.drop(uid)
	}
}

// drop drops the state of an owner. The caller must hold the lock.
func (g *Groups) drop(uid types.UID) {
	one := g.byUID[uid]
	g.sum += one.use.seconds(g.clock.Now())
	delete(g.byUID, uid)
	if delete(g.byOwner[one.owner], uid); len(g.byOwner[one.owner]) == 0 {
		delete(g.byOwner, one.owner)
	}
}

func (g *Groups) get(uid types.UID) *groupState {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.byUID[uid]
}

// owners returns the owner of a group, or all owners if uid is empty.
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

// note records a loss for the next reconcile.
func (g *Groups) note(owner ownerKey, uid types.UID, one leader.Loss) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.add(owner, uid).losses[one.Pod.UID] = one
}

// putBack restores losses that a reconcile has not acted on. It does not replace a newer loss of the same pod.
func (g *Groups) putBack(state *groupState, losses []leader.Loss) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, one := range losses {
		if _, newer := state.losses[one.Pod.UID]; !newer {
			state.losses[one.Pod.UID] = one
		}
	}
}

// drain removes and returns the recorded losses, ordered by slot.
func (g *Groups) drain(state *groupState) []leader.Loss {
	g.mu.Lock()
	defer g.mu.Unlock()
	list := slices.SortedFunc(maps.Values(state.losses), func(a, b leader.Loss) int {
		return cmp.Or(cmp.Compare(a.Pod.Slot, b.Pod.Slot), a.Pod.Created.Compare(b.Pod.Created), cmp.Compare(a.Pod.UID, b.Pod.UID))
	})
	clear(state.losses)
	return list
}

// observed updates the metrics data of a group. It counts only workers whose pods are created by Jobs.
func (g *Groups) observed(state *groupState, plan *leader.Plan, jobs bool) {
	next := use{since: g.clock.Now()}
	if plan.Group != nil {
		next.phase = plan.Group.Phase
	}
	if jobs {
		next.waits = plan.Waits
		switch next.phase {
		case coordination.Running:
			next.running = plan.Group.Size - plan.Group.Done
		case coordination.Forming, coordination.Restarting:
			next.missing = plan.Group.Size - plan.Group.Joined
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.sum += state.use.seconds(next.since)
	state.use = next
}

func (u use) seconds(now time.Time) float64 {
	return float64(u.running) * max(0, now.Sub(u.since).Seconds())
}

func (g *Groups) Describe(ch chan<- *prometheus.Desc) { prometheus.DescribeByCollect(g, ch) }

func (g *Groups) Collect(ch chan<- prometheus.Metric) {
	g.mu.Lock()
	defer g.mu.Unlock()
	now, seconds, missing := g.clock.Now(), g.sum, int64(0)
	phases, waits := map[coordination.Phase]int{}, map[forming.Kind]int{}
	for _, one := range g.byUID {
		seconds += one.use.seconds(now)
		missing += one.use.missing
		phases[one.use.phase]++
		for kind, n := range one.use.waits {
			waits[kind] += n
		}
	}
	gauge := func(m series.Metric, value float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(meter.Desc(m), prometheus.GaugeValue, value, labels...)
	}
	ch <- prometheus.MustNewConstMetric(meter.Desc(series.RunningWorkerSeconds), prometheus.CounterValue, seconds)
	gauge(series.OutOfSync, float64(missing))
	for _, phase := range coordination.Phases {
		gauge(series.Groups, float64(phases[phase]), string(phase))
	}
	for _, kind := range forming.Kinds {
		gauge(series.WaitingToJoin, float64(waits[kind]), string(kind))
	}
}
