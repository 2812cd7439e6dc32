package orchestrator

import (
	"context"
	"errors"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/holdfast-project/holdfast/shared/coordination"
)

// inspectEvery bounds how long an unreadable record of a slot goes unnoticed by the leader. The agent of that slot is
// refused meanwhile, so its next failure would not be heard.
const inspectEvery = 30 * time.Second

// inspections remembers when the records of a group were last read through, which is O(N) for the store.
type inspections struct {
	mu   sync.Mutex
	last map[types.UID]time.Time
}

func (i *inspections) due(uid types.UID, now time.Time) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	if last, ok := i.last[uid]; ok && now.Sub(last) < inspectEvery {
		return false
	}
	if i.last == nil {
		i.last = map[types.UID]time.Time{}
	}
	i.last[uid] = now
	return true
}

func (i *inspections) forget(uid types.UID) {
	i.mu.Lock()
	defer i.mu.Unlock()
	delete(i.last, uid)
}

// inspect reads a group at rest through. A foreign value in any record counts as one in the group.
func (r *Reconciler) inspect(ctx context.Context, s *scope) error {
	if s.group == nil || s.group.Phase != coordination.Running || !r.inspections.due(s.js.UID, s.now) {
		return nil
	}
	_, err := r.Store.Missing(ctx, string(s.js.UID))
	switch {
	case errors.Is(err, coordination.ErrForeignValue):
		return r.sawGroup(s, coordination.Summary{}, err)
	case err == nil, errors.Is(err, coordination.ErrNoGroup):
		return nil
	}
	return storeFailed(err)
}
