package elasticjob

import (
	"context"
	"fmt"
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/elastic-operator/api/v1alpha1"
	"github.com/holdfast-project/holdfast/elastic-operator/internal/plan"
	"github.com/holdfast-project/holdfast/elastic-operator/internal/policy"
	"github.com/holdfast-project/holdfast/shared/recovering"
	"github.com/holdfast-project/holdfast/shared/roster"
)

// writeStatus writes the decision to the status if it changes anything. It fails with a conflict if the job has changed since it was
// observed.
func (r *Reconciler) writeStatus(ctx context.Context, s *scope, d *policy.Decision) (written bool, err error) {
	status := statusOf(s, d)
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

// statusOf returns the next status.
func statusOf(s *scope, d *policy.Decision) *v1alpha1.ElasticJobStatus {
	status := s.job.Status.DeepCopy()
	d.Memory.Write(status)
	status.ObservedGeneration = s.job.Generation
	status.State, status.Message = d.State, d.Message
	status.ReplicaStatuses.Worker = d.Counts
	status.Replicas, status.ReadyReplicas = d.Replicas, d.Ready
	status.FailedIndexes = d.Abandoned.String()
	status.Selector = plan.Selector(s.job.Name)
	status.Rendezvous = s.rendezvous
	for _, c := range d.Conditions {
		status.Conditions = setCondition(status.Conditions, c, s.facts.Now)
	}
	return status
}

// setCondition adds or updates a condition. The times are updated only if the condition has changed. A condition that was never True is not
// added as False, except for InPlaceInSync.
func setCondition(list []v1alpha1.JobCondition, c v1alpha1.JobCondition, now time.Time) []v1alpha1.JobCondition {
	at := metav1.NewTime(now.Truncate(time.Second))
	for i := range list {
		known := &list[i]
		if known.Type != c.Type {
			continue
		}
		if known.Status != c.Status {
			known.LastTransitionTime = at
		}
		if known.Status != c.Status || known.Reason != c.Reason || known.Message != c.Message {
			known.Status, known.Reason, known.Message, known.LastUpdateTime = c.Status, c.Reason, c.Message, at
		}
		return list
	}
	if c.Status != metav1.ConditionTrue && c.Type != v1alpha1.JobInPlaceInSync {
		return list
	}
	c.LastUpdateTime, c.LastTransitionTime = at, at
	return append(list, c)
}

// minRemaining is the remaining time of an announced recovery below which its deadline is extended. Workers often fail one after another,
// and writing a new deadline after every failure would cause unnecessary writes.
const minRemaining = 2 * time.Minute

// annotate updates two annotations of the job before its pods are changed: the announced recovery, and the roster of the workers that
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
