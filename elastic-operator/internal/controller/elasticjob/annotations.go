package elasticjob

import (
	"context"
	"fmt"
	"maps"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/elastic-operator/internal/policy"
	"github.com/holdfast-project/holdfast/shared/recovering"
	"github.com/holdfast-project/holdfast/shared/roster"
)

// minRemaining is the remaining time of an announced recovery below which its deadline is extended. Workers often fail one after the other,
// and not every failure is worth a write.
const minRemaining = 2 * time.Minute

// annotate updates two annotations of the job before its pods are changed: the announced recovery, and the roster of the workers that
// restart in place together.
func (r *Reconciler) annotate(ctx context.Context, s *scope, d *policy.Decision) error {
	annotations := maps.Clone(s.job.Annotations)
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotateRecovery(annotations, d, s.facts.Now)
	if d.Roster == nil {
		delete(annotations, roster.Annotation)
	} else {
		annotations[roster.Annotation] = d.Roster.Format()
	}
	if maps.Equal(annotations, s.job.Annotations) {
		return nil
	}
	next := s.job.DeepCopy()
	next.Annotations = annotations
	if err := r.Client.Patch(ctx, next, client.MergeFromWithOptions(s.job, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("updating annotations: %w", err)
	}
	s.job = next
	return nil
}

func annotateRecovery(annotations map[string]string, d *policy.Decision, now time.Time) {
	if d.Recovering == nil {
		if recovering.Release(annotations, recovering.LevelElastic, recovering.LevelProcess) {
			delete(annotations, recovering.Annotation)
		}
		return
	}
	if isAnnounced(annotations, now) {
		return
	}
	if value, write := recovering.Place(annotations, *d.Recovering, now); write {
		annotations[recovering.Annotation] = value
	}
}

// isAnnounced reports whether a recovery of this level is announced for long enough.
func isAnnounced(annotations map[string]string, now time.Time) bool {
	state, found := recovering.Of(annotations)
	return found && state.Level == recovering.LevelElastic && state.Live(now.Add(minRemaining))
}
