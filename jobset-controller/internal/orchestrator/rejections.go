package orchestrator

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Callers that the store may refuse, as values of a label.
const (
	callerOrchestrator = "orchestrator"
	callerAgent        = "agent"
)

const (
	rejectionLook = 10 * time.Second
	// mostRejections is what one group may add in one look. Members can write anything into their group's data, and what is
	// theirs must not drown what is others'.
	mostRejections = 1000
)

// rejections remembers how many rejected reports of agents the store had counted for a group.
type rejections struct {
	looks rhythm

	mu   sync.Mutex
	seen map[types.UID]int64
}

// news is how many are new. What was counted before this leader saw the group is another one's; a store that counts from the
// beginning again has lost its data.
func (r *rejections) news(uid types.UID, n int64, ours bool) int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	before, known := r.seen[uid]
	if r.seen == nil {
		r.seen = map[types.UID]int64{}
	}
	r.seen[uid] = n
	switch {
	case !known && !ours:
		return 0
	case n < before:
		before = 0
	}
	return min(n-before, mostRejections)
}

func (r *rejections) forget(uid types.UID) {
	r.looks.forget(uid)
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.seen, uid)
}

// countRejections puts into the metrics what the store has refused to agents, who have no metrics of their own.
func (r *Reconciler) countRejections(ctx context.Context, s *scope) error {
	if s.group == nil || !(s.opened || r.rejections.looks.due(s.js.UID, rejectionLook, s.now)) {
		return nil
	}
	n, err := r.Store.Rejected(ctx, string(s.js.UID))
	if unreadable(err) {
		return nil
	}
	if err != nil {
		return storeFailed(err)
	}
	fencingRejections.WithLabelValues(callerAgent).Add(float64(r.rejections.news(s.js.UID, n, s.opened)))
	return nil
}
