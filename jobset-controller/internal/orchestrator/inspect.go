package orchestrator

import (
	"context"
	"errors"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination"
)

// inspectEvery bounds how long an unreadable record of a slot goes unnoticed by the leader. The agent of that slot is
// refused meanwhile, so its next failure would not be heard.
const inspectEvery = 30 * time.Second

// inspect reads a group at rest through. A foreign value in any record counts as one in the group.
func (r *Reconciler) inspect(ctx context.Context, s *scope) error {
	if s.group == nil || s.group.Phase != coordination.Running || !due(&s.state.inspected, inspectEvery, s.now) {
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
