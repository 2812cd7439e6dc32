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

// ensureClaims creates the volume claims of the pods before there are Jobs. Claims are not watched: they are looked for whenever
// Jobs are missing, which is when pods could miss them.
func (r *Reconciler) ensureClaims(ctx context.Context, s *scope) (ctrl.Result, error) {
	if len(s.jobSet.Spec.VolumeClaimPolicies) == 0 || !s.lacksJobs() {
		return ctrl.Result{}, nil
	}
	err := parallel.Do(ctx, plan.Claims(s.jobSet), func(ctx context.Context, claim *corev1.PersistentVolumeClaim) error {
		return r.ensureClaim(ctx, s, claim)
	})
	if err != nil {
		s.lacksClaims = true
		r.report.warn(s.jobSet, pvcCreationFailed, "no jobs are created before the claims of their volumes: "+err.Error())
	}
	return ctrl.Result{}, err
}

func (s *scope) lacksJobs() bool {
	var wanted int
	for i := range s.jobSet.Spec.ReplicatedJobs {
		wanted += int(s.jobSet.Spec.ReplicatedJobs[i].Replicas)
	}
	return len(s.jobs.Names) < wanted
}

func (r *Reconciler) ensureClaim(ctx context.Context, s *scope, desired *corev1.PersistentVolumeClaim) error {
	var existing corev1.PersistentVolumeClaim
	err := r.live.Get(ctx, client.ObjectKeyFromObject(desired), &existing)
	switch {
	case apierrors.IsNotFound(err):
		return r.createClaim(ctx, desired)
	case err != nil:
		return fmt.Errorf("getting volume claim %s: %w", desired.Name, err)
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

// reportForeignClaim: a claim that was there before is used. If it was to be deleted with the JobSet, it will not be.
func (r *Reconciler) reportForeignClaim(s *scope, desired, existing *corev1.PersistentVolumeClaim) {
	deleted := metav1.GetControllerOf(desired) != nil
	if deleted && !owns(s.jobSet, existing) {
		r.report.warnOnce(s.jobSet, foreignClaim, existing.Name, fmt.Sprintf(
			"volume claim %s exists and does not belong to this JobSet; it is used, and not deleted with the JobSet", existing.Name))
	}
}
