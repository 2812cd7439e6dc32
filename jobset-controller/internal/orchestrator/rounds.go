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
	late         string // who was not back when it was asked for; kept as it was
	asked        bool
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
		s = started{phase: g.Phase, epoch: g.Epoch, round: g.Round, at: now}
		r.since[uid] = s
	}
	return &grace.Deadline{Start: s.at, Period: timeout}
}

// late is what was noted of the round in progress, if that has been done.
func (r *rounds) late(uid types.UID) (text string, asked bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.since[uid]
	return s.late, s.asked
}

// setLate notes it once for the round in progress.
func (r *rounds) setLate(uid types.UID, text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s, ok := r.since[uid]; ok && !s.asked {
		s.late, s.asked = text, true
		r.since[uid] = s
	}
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
