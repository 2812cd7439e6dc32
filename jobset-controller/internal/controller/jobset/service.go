package jobset

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/jobset-controller/internal/plan"
)

// foreignRetry is how often a name that somebody else holds is tried again. Such objects are not watched.
const foreignRetry = 30 * time.Second

// ensureService creates the headless Service if pods are to have DNS names.
func (r *Reconciler) ensureService(ctx context.Context, s *scope) (ctrl.Result, error) {
	if !plan.WantsService(s.jobSet) || s.service != nil && owns(s.jobSet, s.service) {
		return ctrl.Result{}, nil
	}
	desired := plan.Service(s.jobSet)
	err := r.client.Create(ctx, desired)
	switch {
	case err == nil:
		return ctrl.Result{}, nil
	case apierrors.IsAlreadyExists(err):
		return r.adoptService(ctx, s, desired)
	}
	r.report.warn(s.jobSet, headlessServiceCreationFailed, "the pods have no DNS names yet: "+err.Error())
	return ctrl.Result{}, fmt.Errorf("creating service %s: %w", desired.Name, err)
}

// adoptService takes a Service that exists but is not in the cache: that of the published controller lacks the label that the
// cache selects by. A foreign one is let be; it may be there on purpose.
func (r *Reconciler) adoptService(ctx context.Context, s *scope, desired *corev1.Service) (ctrl.Result, error) {
	var service corev1.Service
	if err := r.live.Get(ctx, client.ObjectKeyFromObject(desired), &service); err != nil {
		return ctrl.Result{}, fmt.Errorf("getting service %s: %w", desired.Name, err)
	}
	if !owns(s.jobSet, &service) {
		r.report.warnOnce(s.jobSet, foreignService, service.Name, fmt.Sprintf(
			"service %s exists and does not belong to this JobSet; the pods' DNS names depend on it", service.Name))
		return ctrl.Result{RequeueAfter: foreignRetry}, nil
	}
	labelled := service.DeepCopy()
	labelled.Labels = labels.Merge(service.Labels, desired.Labels)
	if labels.Equals(labelled.Labels, service.Labels) {
		return ctrl.Result{}, nil // just created, and not yet in the cache
	}
	if err := r.client.Patch(ctx, labelled, client.MergeFrom(&service)); err != nil {
		return ctrl.Result{}, fmt.Errorf("labelling service %s: %w", service.Name, err)
	}
	return ctrl.Result{}, nil
}
