package elasticjob

import (
	"context"
	"fmt"
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/elastic-operator/internal/plan"
	"github.com/holdfast-project/holdfast/elastic-operator/internal/policy"
	"github.com/holdfast-project/holdfast/shared/recovering"
	"github.com/holdfast-project/holdfast/shared/roster"
)

// writeStatus writes the decision to the status if it changes anything. It fails with a conflict if the job has changed since it was
// observed.
func (r *Reconciler) writeStatus(ctx context.Context, s *scope, d *policy.Decision) (written bool, err error) {
	status := d.Status
	status.ObservedGeneration, status.Selector, status.Rendezvous = s.job.Generation, plan.Selector(s.job.Name), s.rendezvous
	if equality.Semantic.DeepEqual(s.job.Status, *status) {
		return false, nil
	}
	before := s.job.DeepCopy()
	s.job.Status = *status
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := r.Client.Status().Patch(ctx, s.job, patch); err != nil {
		s.job.Status = before.Status
		return false, fmt.Errorf("writing the status: %w", err)
	}
	return true, nil
}

// minRemaining is the remaining time of an announced recovery below which its deadline is extended. Workers often fail one after another,
// and writing a new deadline after every failure would cause unnecessary writes.
const minRemaining = 2 * time.Minute

// annotate updates two of the job's annotations before its pods are changed: the announced recovery, and the roster of the workers that
// restart in place together.
func (r *Reconciler) annotate(ctx context.Context, s *scope, d *policy.Decision) error {
	annotations := maps.Collect(maps.All(s.job.Annotations)) // a copy that is not nil
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
	if state, found := recovering.Of(annotations); found && state.Level == recovering.LevelElastic && state.Live(now.Add(minRemaining)) {
		return // announced for long enough
	}
	if value, write := recovering.Place(annotations, *d.Recovering, now); write {
		annotations[recovering.Annotation] = value
	}
}
