package orchestrator

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/leader"
	"github.com/holdfast-project/holdfast/shared/grace"
)

// rounds keeps the clock of each round that is being restarted. A clock starts when this leader first sees the round, so
// a new leader is late but never early, and no clock of another machine is trusted.
type rounds struct {
	mu    sync.Mutex
	since map[types.UID]started
}

type started struct {
	phase        coordination.Phase
	epoch, round int64
	at           time.Time
}

// clock returns the deadline of the round in progress, nil if none is restarting.
func (r *rounds) clock(uid types.UID, g coordination.Summary, timeout time.Duration, now time.Time) *grace.Deadline {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !leader.Timed(g) {
		delete(r.since, uid)
		return nil
	}
	s, ok := r.since[uid]
	if !ok || s.phase != g.Phase || s.epoch != g.Epoch || s.round != g.Round {
		if r.since == nil {
			r.since = map[types.UID]started{}
		}
		s = started{g.Phase, g.Epoch, g.Round, now}
		r.since[uid] = s
	}
	return &grace.Deadline{Start: s.at, Period: timeout}
}

// restarting tells whether this leader watches a round of the JobSet.
func (r *rounds) restarting(uid types.UID) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, ok := r.since[uid]
	return ok
}

func (r *rounds) forget(uid types.UID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.since, uid)
}
