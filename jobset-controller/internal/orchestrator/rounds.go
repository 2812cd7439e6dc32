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

	size          int64     // the smallest that was seen: a step that enters in the middle of a restart has nobody to end
	joined, downs int64     // in the last look
	moved         time.Time // when they were seen to change last
	down          time.Time // when all workers were seen to have ended; zero: some run on
}

// look notes how far the round has come.
func (s *started) look(g coordination.Summary, now time.Time) {
	if s.joined != g.Joined || s.downs != g.Record.Downs || s.moved.IsZero() {
		s.joined, s.downs, s.moved = g.Joined, g.Record.Downs, now
	}
	s.size = min(s.size, g.Size)
	if s.down.IsZero() && g.Phase == coordination.Restarting && g.Record.Downs >= s.size {
		s.down = now
	}
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
		s = started{phase: g.Phase, epoch: g.Epoch, round: g.Round, at: now, size: g.Size}
	}
	s.look(g, now)
	r.since[uid] = s
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

// stuck tells whether those that are missing have had the time to come back: all workers have ended, and either nobody has come back for a
// while, or all have had as long as a kubelet takes. If that may still come to be, wait is how long it takes at least.
func (r *rounds) stuck(uid types.UID, now time.Time) (stuck bool, wait time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s, ok := r.since[uid]
	switch {
	case !ok:
		return false, 0
	case s.down.IsZero():
		return false, stallsFor
	}
	wait = min(stallsFor-now.Sub(s.moved), startsWithin-now.Sub(s.down))
	if wait > 0 {
		return false, wait
	}
	return true, 0
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
