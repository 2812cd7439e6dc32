package jobset

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
)

// expire deletes a finished JobSet after its time to live.
func (r *Reconciler) expire(ctx context.Context, s *scope) (ctrl.Result, error) {
	ttl := s.jobSet.Spec.TTLSecondsAfterFinished
	if ttl == nil {
		return ctrl.Result{}, nil
	}
	left := s.finishedAt().Add(time.Duration(*ttl) * time.Second).Sub(r.clock.Now())
	if left > 0 {
		return ctrl.Result{RequeueAfter: left}, nil
	}
	// The preconditions replace a live read.
	asObserved := client.Preconditions{UID: &s.jobSet.UID, ResourceVersion: &s.jobSet.ResourceVersion}
	err := r.client.Delete(ctx, s.jobSet, client.PropagationPolicy(metav1.DeletePropagationForeground), asObserved)
	switch {
	case err == nil || apierrors.IsNotFound(err):
		return ctrl.Result{}, nil
	case apierrors.IsConflict(err):
		return ctrl.Result{RequeueAfter: staleRetry}, nil
	}
	return ctrl.Result{}, fmt.Errorf("deleting the expired JobSet: %w", err)
}

func (s *scope) finishedAt() time.Time {
	for _, kind := range []v1alpha2.JobSetConditionType{v1alpha2.JobSetCompleted, v1alpha2.JobSetFailed} {
		c := meta.FindStatusCondition(s.jobSet.Status.Conditions, string(kind))
		if c != nil && c.Status == metav1.ConditionTrue {
			return c.LastTransitionTime.Time
		}
	}
	return time.Time{}
}
