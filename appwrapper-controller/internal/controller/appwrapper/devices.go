package appwrapper

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	resourcev1beta2 "k8s.io/api/resource/v1beta2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/holdfast-project/holdfast/appwrapper-controller/internal/signals"
)

// +kubebuilder:rbac:groups=resource.k8s.io,resources=resourceclaims;resourceslices;devicetaintrules,verbs=get;list;watch

// watchDevices keeps the inventory of tainted devices, if a signal is about them. Rules of administrators are watched where the API server
// serves them, which it does not by default.
func (r *Reconciler) watchDevices(mgr ctrl.Manager, building *builder.Builder) error {
	if !r.book.Table().AboutDevices() {
		return nil
	}
	slice := resourcev1.SchemeGroupVersion.WithKind("ResourceSlice")
	if _, err := mgr.GetRESTMapper().RESTMapping(slice.GroupKind(), slice.Version); err != nil {
		return fmt.Errorf("nodeHealth.signals has a deviceTaint, and the cluster has no ResourceSlices of %s: %w", slice.GroupVersion(), err)
	}
	building.WatchesRawSource(source.Kind(mgr.GetCache(), &resourcev1.ResourceSlice{}, newsOf(r,
		r.inventory.ObserveSlice, r.inventory.ForgetSlice)))
	rule := resourcev1beta2.SchemeGroupVersion.WithKind("DeviceTaintRule")
	_, err := mgr.GetRESTMapper().RESTMapping(rule.GroupKind(), rule.Version)
	if meta.IsNoMatchError(err) {
		ctrl.Log.WithName(Name).Info("Taints of devices are read from ResourceSlices only: the cluster has no DeviceTaintRules", "version", rule.GroupVersion())
		return nil
	}
	if err != nil {
		return fmt.Errorf("looking for DeviceTaintRules: %w", err)
	}
	building.WatchesRawSource(source.Kind(mgr.GetCache(), &resourcev1beta2.DeviceTaintRule{}, newsOf(r,
		r.inventory.ObserveRule, func(gone *resourcev1beta2.DeviceTaintRule) bool { return r.inventory.ForgetRule(gone.Name) })))
	return nil
}

// newsOf shows objects to the inventory, and wakes the workloads that hold devices if there is news.
func newsOf[T client.Object](r *Reconciler, observe, forget func(T) bool) handler.TypedEventHandler[T, reconcile.Request] {
	wake := func(ctx context.Context, changed bool, q nodeQueue) {
		if changed {
			r.wakeWorkloads(ctx, client.MatchingFields{claimIndex: holdsClaims}, q)
		}
	}
	return handler.TypedFuncs[T, reconcile.Request]{
		CreateFunc: func(ctx context.Context, e event.TypedCreateEvent[T], q nodeQueue) { wake(ctx, observe(e.Object), q) },
		UpdateFunc: func(ctx context.Context, e event.TypedUpdateEvent[T], q nodeQueue) {
			wake(ctx, observe(e.ObjectNew), q)
		},
		DeleteFunc: func(ctx context.Context, e event.TypedDeleteEvent[T], q nodeQueue) { wake(ctx, forget(e.Object), q) },
	}
}

// taintedDevice returns the signal about a device that the pod holds, or when there may be one.
func (r *Reconciler) taintedDevice(ctx context.Context, pod *corev1.Pod, now time.Time) (*signals.Signal, time.Time, error) {
	table := r.book.Table()
	if !table.AboutDevices() {
		return nil, time.Time{}, nil
	}
	var taints []resourcev1.DeviceTaint
	for _, name := range claimsOf(pod) {
		var claim resourcev1.ResourceClaim
		err := r.client.Get(ctx, client.ObjectKey{Namespace: pod.Namespace, Name: name}, &claim, client.UnsafeDisableDeepCopy)
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, time.Time{}, fmt.Errorf("getting resource claim %s: %w", name, err)
		}
		if a := claim.Status.Allocation; a != nil {
			taints = append(taints, r.inventory.Taints(a.Devices.Results, now)...)
		}
	}
	found, next := table.Tainted(taints, now)
	return found, next, nil
}

// claimsOf a pod are those that it names, those that were made for it, and that for its extended resources.
func claimsOf(pod *corev1.Pod) []string {
	var names []string
	for _, c := range pod.Spec.ResourceClaims {
		if c.ResourceClaimName != nil {
			names = append(names, *c.ResourceClaimName)
		}
	}
	for _, c := range pod.Status.ResourceClaimStatuses {
		if c.ResourceClaimName != nil {
			names = append(names, *c.ResourceClaimName)
		}
	}
	if extended := pod.Status.ExtendedResourceClaimStatus; extended != nil {
		names = append(names, extended.ResourceClaimName)
	}
	return names
}

// stripSlice leaves the taints.
func stripSlice(slice *resourcev1.ResourceSlice) *resourcev1.ResourceSlice {
	kept := &resourcev1.ResourceSlice{TypeMeta: slice.TypeMeta, ObjectMeta: *bare(&slice.ObjectMeta)}
	kept.Spec.Driver, kept.Spec.Pool = slice.Spec.Driver, slice.Spec.Pool
	for _, device := range slice.Spec.Devices {
		if len(device.Taints) > 0 {
			kept.Spec.Devices = append(kept.Spec.Devices, resourcev1.Device{Name: device.Name, Taints: device.Taints})
		}
	}
	return kept
}
