package jobset

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/jobset-controller/internal/parallel"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/plan"
)

// ensureService creates the headless Service if the pods get DNS names.
func (r *Reconciler) ensureService(ctx context.Context, s *scope) (ctrl.Result, error) {
	if !plan.WantsService(s.jobSet) || s.service != nil && metav1.IsControlledBy(s.service, s.jobSet) {
		return ctrl.Result{}, nil
	}
	if wait, _ := r.notBefore.wait(s.jobSet, taskService); wait > 0 {
		return ctrl.Result{RequeueAfter: wait}, nil
	}
	return r.retry(s.jobSet, taskService, r.createService(ctx, s))
}

func (r *Reconciler) createService(ctx context.Context, s *scope) error {
	desired := plan.Service(s.jobSet)
	err := r.Client.Create(ctx, desired)
	if apierrors.IsAlreadyExists(err) {
		return r.adoptService(ctx, s, desired)
	}
	if err != nil {
		r.warn(s.jobSet, headlessServiceCreationFailed, "the pods have no DNS names yet: "+err.Error())
		return fmt.Errorf("creating service %s: %w", desired.Name, err)
	}
	return nil
}

// adoptService adopts a Service that exists but is not in the cache: the upstream controller's Service lacks the label
// that the cache's selector requires. It does not change another owner's Service, because JobSets may intentionally
// share a subdomain.
func (r *Reconciler) adoptService(ctx context.Context, s *scope, desired *corev1.Service) error {
	var service corev1.Service
	if err := r.Live.Get(ctx, client.ObjectKeyFromObject(desired), &service); err != nil {
		return fmt.Errorf("getting service %s: %w", desired.Name, err)
	}
	if !metav1.IsControlledBy(&service, s.jobSet) {
		err := fmt.Errorf("service %s %w", service.Name, errForeign)
		r.warnOnce(s.jobSet, foreignService, err.Error()+"; the pods' DNS names depend on it")
		return err
	}
	labelled := service.DeepCopy()
	labelled.Labels = labels.Merge(service.Labels, desired.Labels)
	if labels.Equals(labelled.Labels, service.Labels) {
		return nil // just created, and not in the cache yet
	}
	if err := r.Client.Patch(ctx, labelled, client.MergeFrom(&service)); err != nil {
		return fmt.Errorf("labeling service %s: %w", service.Name, err)
	}
	return nil
}

// ensureClaims creates the volume claims of the pods. It returns an empty result once all of them exist. Claims are not
// watched. It runs before Jobs are created, because only new pods need the claims.
func (r *Reconciler) ensureClaims(ctx context.Context, s *scope) (ctrl.Result, error) {
	if len(s.jobSet.Spec.VolumeClaimPolicies) == 0 {
		return ctrl.Result{}, nil
	}
	if wait, refused := r.notBefore.wait(s.jobSet, taskClaims); wait > 0 {
		s.claimsErr = refused
		return ctrl.Result{RequeueAfter: wait}, nil
	}
	err := parallel.Do(ctx, plan.Claims(s.jobSet), func(ctx context.Context, claim *corev1.PersistentVolumeClaim) error {
		return r.ensureClaim(ctx, s, claim)
	})
	s.claimsErr = err
	if err != nil {
		r.warn(s.jobSet, pvcCreationFailed, "no jobs are created before their volume claims: "+err.Error())
	}
	return r.retry(s.jobSet, taskClaims, err)
}

func (r *Reconciler) ensureClaim(ctx context.Context, s *scope, desired *corev1.PersistentVolumeClaim) error {
	var existing corev1.PersistentVolumeClaim
	err := r.Live.Get(ctx, client.ObjectKeyFromObject(desired), &existing)
	if apierrors.IsNotFound(err) {
		if err := r.Client.Create(ctx, desired); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("creating volume claim %s: %w", desired.Name, err)
		}
		return nil
	}
	deleted := metav1.GetControllerOf(desired) != nil // whether the claim is deleted with the JobSet
	switch {
	case err != nil:
		return fmt.Errorf("getting volume claim %s: %w", desired.Name, err)
	case !existing.DeletionTimestamp.IsZero(): // pods that use it would not be scheduled
		return fmt.Errorf("volume claim %s %w; it is created again once it is gone", desired.Name, errTerminating)
	case deleted && !metav1.IsControlledBy(&existing, s.jobSet):
		r.warnOnce(s.jobSet, foreignClaim, fmt.Sprintf(
			"volume claim %s exists and does not belong to this JobSet; it is used, and not deleted with the JobSet", existing.Name))
	}
	return nil
}
