package orchestrator

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// rhythm remembers when something that costs was last done for a JobSet.
type rhythm struct {
	mu   sync.Mutex
	last map[types.UID]time.Time
}

// due tells whether it is time to do it again, and notes that it is done now. The first time is at once.
func (r *rhythm) due(uid types.UID, every time.Duration, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if last, ok := r.last[uid]; ok && now.Sub(last) < every {
		return false
	}
	r.note(uid, now)
	return true
}

// dueLater is due, but that the first time is a whole period away.
func (r *rhythm) dueLater(uid types.UID, every time.Duration, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	last, ok := r.last[uid]
	if !ok {
		r.note(uid, now)
		return false
	}
	if now.Sub(last) < every {
		return false
	}
	r.note(uid, now)
	return true
}

// note is called with the lock held.
func (r *rhythm) note(uid types.UID, now time.Time) {
	if r.last == nil {
		r.last = map[types.UID]time.Time{}
	}
	r.last[uid] = now
}

func (r *rhythm) forget(uid types.UID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.last, uid)
}
