package jobset

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/jobset-controller/internal/parallel"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/plan"
)

// ensureClaims creates the volume claims of the pods, and reports whether all of them exist. Claims are not watched. It runs before
// Jobs are created, because only new pods need the claims.
func (r *Reconciler) ensureClaims(ctx context.Context, s *scope) (exist bool, again ctrl.Result, err error) {
	if len(s.jobSet.Spec.VolumeClaimPolicies) == 0 {
		return true, ctrl.Result{}, nil
	}
	if wait, refused := r.notBefore.wait(s.jobSet, taskClaims); wait > 0 {
		s.claimsErr = refused
		return false, ctrl.Result{RequeueAfter: wait}, nil
	}
	err = parallel.Do(ctx, plan.Claims(s.jobSet), func(ctx context.Context, claim *corev1.PersistentVolumeClaim) error {
		return r.ensureClaim(ctx, s, claim)
	})
	s.claimsErr = err
	if err != nil {
		r.report.warn(s.jobSet, pvcCreationFailed, "no jobs are created before the claims of their volumes: "+err.Error())
	}
	again, requeue := r.retry(s.jobSet, taskClaims, err)
	return err == nil, again, requeue
}

func (r *Reconciler) ensureClaim(ctx context.Context, s *scope, desired *corev1.PersistentVolumeClaim) error {
	var existing corev1.PersistentVolumeClaim
	err := r.live.Get(ctx, client.ObjectKeyFromObject(desired), &existing)
	switch {
	case apierrors.IsNotFound(err):
		return r.createClaim(ctx, desired)
	case err != nil:
		return fmt.Errorf("getting volume claim %s: %w", desired.Name, err)
	case !existing.DeletionTimestamp.IsZero(): // no pod that uses it would be scheduled
		return fmt.Errorf("volume claim %s %w; it is created again once it is gone", desired.Name, errTerminating)
	}
	r.reportForeignClaim(s, desired, &existing)
	return nil
}

func (r *Reconciler) createClaim(ctx context.Context, desired *corev1.PersistentVolumeClaim) error {
	if err := r.client.Create(ctx, desired); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("creating volume claim %s: %w", desired.Name, err)
	}
	return nil
}

// reportForeignClaim reports that an existing claim is used, and that it is not deleted with the JobSet.
func (r *Reconciler) reportForeignClaim(s *scope, desired, existing *corev1.PersistentVolumeClaim) {
	deleted := metav1.GetControllerOf(desired) != nil
	if deleted && !owns(s.jobSet, existing) {
		r.report.warnOnce(s.jobSet, foreignClaim, existing.Name, fmt.Sprintf(
			"volume claim %s exists and does not belong to this JobSet; it is used, and not deleted with the JobSet", existing.Name))
	}
}
