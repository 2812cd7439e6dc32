package orchestrator

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/holdfast-project/holdfast/shared/coordination"
)

// usage adds up what the workers of all groups do, from the looks of this leader.
type usage struct {
	mu  sync.Mutex
	of  map[types.UID]use
	sum float64 // worker-seconds in sync that are over
}

type use struct {
	running, missing int64
	since            time.Time
}

// saw notes what a group does from now on; nil: it is not led any more.
func (u *usage) saw(uid types.UID, g *coordination.Summary, now time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	before := u.of[uid]
	u.sum += float64(before.running) * max(0, now.Sub(before.since).Seconds())
	outOfSync.Sub(float64(before.missing))
	delete(u.of, uid)
	if g == nil {
		return
	}
	next := use{since: now}
	switch g.Phase {
	case coordination.Running:
		next.running = g.Size - g.Done
	case coordination.Forming, coordination.Restarting, coordination.Recovering:
		next.missing = g.Size - g.Joined
	}
	outOfSync.Add(float64(next.missing))
	if u.of == nil {
		u.of = map[types.UID]use{}
	}
	u.of[uid] = next
}

// seconds is all worker-seconds up to now.
func (u *usage) seconds(now time.Time) float64 {
	u.mu.Lock()
	defer u.mu.Unlock()
	sum := u.sum
	for _, one := range u.of {
		sum += float64(one.running) * max(0, now.Sub(one.since).Seconds())
	}
	return sum
}
