package elasticjob

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/elastic-operator/api/v1alpha1"
	"github.com/holdfast-project/holdfast/elastic-operator/internal/plan"
	"github.com/holdfast-project/holdfast/elastic-operator/internal/policy"
)

// writeStatus writes the decision to the status if it changes anything. It fails with a conflict if the job has changed since it was
// observed.
func (r *Reconciler) writeStatus(ctx context.Context, s *scope, d *policy.Decision) (written bool, err error) {
	if s.facts.Deleted {
		return false, nil
	}
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

// setCondition updates or adds a condition, and its times if it has changed. A condition that was never True is not added as False unless
// Always is set.
func setCondition(list []v1alpha1.JobCondition, c policy.Condition, now time.Time) []v1alpha1.JobCondition {
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
	if c.Status != metav1.ConditionTrue && !c.Always {
		return list
	}
	return append(list, v1alpha1.JobCondition{
		Type: c.Type, Status: c.Status, Reason: c.Reason, Message: c.Message, LastUpdateTime: at, LastTransitionTime: at,
	})
}
