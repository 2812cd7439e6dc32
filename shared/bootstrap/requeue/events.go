package requeue

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Queue is the work queue of a controller.
type Queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// OnEvents calls enqueue when an object was created, changed or deleted. before is nil unless it was changed.
func OnEvents(enqueue func(q Queue, before, o client.Object)) handler.EventHandler {
	return handler.Funcs{
		CreateFunc: func(_ context.Context, e event.CreateEvent, q Queue) { enqueue(q, nil, e.Object) },
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, q Queue) { enqueue(q, e.ObjectOld, e.ObjectNew) },
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, q Queue) { enqueue(q, nil, e.Object) },
	}
}

// Controller returns the reference to the controller of o if that controller has the given kind, in any version. Otherwise, it returns nil.
func Controller(o metav1.Object, kind schema.GroupVersionKind) *metav1.OwnerReference {
	ref := metav1.GetControllerOfNoCopy(o)
	if ref == nil || schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind).GroupKind() != kind.GroupKind() {
		return nil
	}
	return ref
}

// AddController enqueues the controller of o after a delay, if that controller has the given kind.
func AddController(q Queue, o metav1.Object, kind schema.GroupVersionKind, after time.Duration) {
	if ref := Controller(o, kind); ref != nil {
		q.AddAfter(reconcile.Request{NamespacedName: types.NamespacedName{Namespace: o.GetNamespace(), Name: ref.Name}}, after)
	}
}
