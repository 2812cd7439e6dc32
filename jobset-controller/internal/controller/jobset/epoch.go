package jobset

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/policy"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/provenance"
	"github.com/holdfast-project/holdfast/shared/bootstrap/requeue"
	"github.com/holdfast-project/holdfast/shared/coordination/epoch"
)

// openEpoch writes the next epoch before the Jobs are stopped or deleted, so that stopping or deleting them does not
// count as a failure:
//
//	suspend:  epoch ──> Jobs suspended ──> status
//	restart:  epoch ──> status ──> Jobs deleted (next reconcile)
//
// After a crash between the first two steps, the next process finds the same cause in the annotation and continues.
// openEpoch returns false if the JobSet has changed since it was observed.
func (r *Reconciler) openEpoch(ctx context.Context, s *scope, cause string, base int32) (bool, error) {
	next, opened := s.Epoch.Next(cause, base)
	if !opened {
		return true, nil
	}
	written, err := r.annotate(ctx, s, epoch.Annotation, next.Format())
	if written {
		s.Epoch = next
	}
	return written, err
}

// annotate sets an annotation of the JobSet. It returns false if the JobSet was deleted, or has changed since it was
// observed.
func (r *Reconciler) annotate(ctx context.Context, s *scope, key, value string) (bool, error) {
	changed := s.jobSet.DeepCopy()
	metav1.SetMetaDataAnnotation(&changed.ObjectMeta, key, value)
	provenance.Stamp(changed, changed.Annotations)
	err := r.Client.Patch(ctx, changed, client.MergeFromWithOptions(s.jobSet, client.MergeFromWithOptimisticLock{}))
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("writing annotation %s: %w", key, err)
	}
	s.jobSet.ResourceVersion, s.jobSet.Annotations = changed.ResourceVersion, changed.Annotations
	r.wrote(s.jobSet) // the update triggers a reconcile, which should wait for the status write that follows
	return true, nil
}

// dropCopied deletes annotations that were written for another JobSet. It runs before any of them is read. The update
// triggers the next reconcile.
func (r *Reconciler) dropCopied(ctx context.Context, js *v1alpha2.JobSet) (ctrl.Result, error) {
	changed := js.DeepCopy()
	provenance.Drop(changed.Annotations)
	if err := r.Client.Patch(ctx, changed, client.MergeFromWithOptions(js, client.MergeFromWithOptimisticLock{})); err != nil {
		return requeue.OnError(fmt.Errorf("dropping annotations of another JobSet: %w", err))
	}
	return ctrl.Result{}, nil
}

// openRestartEpoch opens an epoch before the restart of a group is recorded. base includes the restart if it counts.
func (r *Reconciler) openRestartEpoch(ctx context.Context, s *scope) (ctrl.Result, error) {
	if !s.decided || s.decision.Outcome != policy.Restart || !s.InPlace.Enabled {
		return ctrl.Result{}, nil
	}
	base := s.charged()
	if s.decision.First().Counts() {
		base++
	}
	var err error
	s.decided, err = r.openEpoch(ctx, s, policy.RestartCause(s.jobSet.Status.Restarts+1), base)
	if !s.decided {
		return ctrl.Result{RequeueAfter: requeue.Stale}, err
	}
	return ctrl.Result{}, nil
}

func (s *scope) charged() int32 { return policy.Charged(&s.jobSet.Status, s.InPlace, s.Epoch) }
