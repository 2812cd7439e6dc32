package appwrapper

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/holdfast-project/holdfast/appwrapper-controller/api/v1beta2"
)

// isCurrent tells whether the AppWrapper is as it was observed. What was decided for an earlier state of it, such as a removal, must
// not hit what came after.
func (r *Reconciler) isCurrent(ctx context.Context, aw *v1beta2.AppWrapper) (bool, error) {
	live := &metav1.PartialObjectMetadata{}
	live.SetGroupVersionKind(v1beta2.GroupVersion.WithKind(v1beta2.Kind))
	err := r.live.Get(ctx, client.ObjectKeyFromObject(aw), live)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("getting the live AppWrapper: %w", err)
	}
	return live.UID == aw.UID && live.ResourceVersion == aw.ResourceVersion, nil
}

// setFinalizer adds or removes the finalizer of the version that was observed.
func (r *Reconciler) setFinalizer(ctx context.Context, aw *v1beta2.AppWrapper, there bool) error {
	before := aw.DeepCopy()
	change := controllerutil.RemoveFinalizer
	if there {
		change = controllerutil.AddFinalizer
	}
	if !change(aw, v1beta2.Finalizer) {
		return nil
	}
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	status := aw.Status // the answer has the stored one
	if err := r.client.Patch(ctx, aw, patch); err != nil {
		return fmt.Errorf("patching the finalizer: %w", err)
	}
	aw.Status = status
	return nil
}

// again turns a lost race into a second look.
func again(err error) (ctrl.Result, error) {
	if apierrors.IsConflict(err) {
		return ctrl.Result{RequeueAfter: staleRetry}, nil
	}
	return ctrl.Result{}, client.IgnoreNotFound(err)
}
