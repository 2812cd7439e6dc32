package elasticjob

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/holdfast-project/holdfast/elastic-operator/api/v1alpha1"
)

// debounce delays the reconcile after a pod event, so that pods that start or fail at the same time need only one reconcile.
const debounce = 50 * time.Millisecond

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// podEvents enqueues the job of a pod when a field changes that the policy reads.
func podEvents() handler.EventHandler {
	return handler.Funcs{
		CreateFunc: func(_ context.Context, e event.CreateEvent, q queue) { enqueue(q, e.Object) },
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, q queue) { enqueue(q, e.Object) },
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, q queue) {
			before, isPod := e.ObjectOld.(*corev1.Pod)
			after, isPodToo := e.ObjectNew.(*corev1.Pod)
			if !isPod || !isPodToo || podChanged(before, after) {
				enqueue(q, e.ObjectNew)
			}
		},
	}
}

func podChanged(before, after *corev1.Pod) bool {
	return before.UID != after.UID || before.Spec.NodeName != after.Spec.NodeName ||
		before.DeletionTimestamp.IsZero() != after.DeletionTimestamp.IsZero() || !equality.Semantic.DeepEqual(before.Status, after.Status)
}

// serviceEvents enqueues the job of a deleted service.
func serviceEvents() handler.EventHandler {
	return handler.Funcs{DeleteFunc: func(_ context.Context, e event.DeleteEvent, q queue) { enqueue(q, e.Object) }}
}

func enqueue(q queue, object client.Object) {
	if owner(object) == "" {
		return
	}
	q.AddAfter(reconcile.Request{NamespacedName: types.NamespacedName{
		Namespace: object.GetNamespace(), Name: metav1.GetControllerOfNoCopy(object).Name,
	}}, debounce)
}

// jobEvents drops the in-memory state of deleted jobs. Most jobs disappear without being reconciled with a deletion timestamp.
func (r *Reconciler) jobEvents() handler.TypedEventHandler[*v1alpha1.ElasticJob, reconcile.Request] {
	return handler.TypedFuncs[*v1alpha1.ElasticJob, reconcile.Request]{
		DeleteFunc: func(_ context.Context, e event.TypedDeleteEvent[*v1alpha1.ElasticJob], _ queue) {
			r.expectations.forget(e.Object.UID)
			r.requests.forget(e.Object.UID)
		},
	}
}

// nodeEvents enqueues the jobs with pods on a node that was created or deleted, or whose fields that the policy reads have changed.
func (r *Reconciler) nodeEvents() handler.TypedEventHandler[*corev1.Node, reconcile.Request] {
	return handler.TypedFuncs[*corev1.Node, reconcile.Request]{
		CreateFunc: func(ctx context.Context, e event.TypedCreateEvent[*corev1.Node], q queue) {
			r.enqueueNode(ctx, q, e.Object)
		},
		DeleteFunc: func(ctx context.Context, e event.TypedDeleteEvent[*corev1.Node], q queue) {
			r.enqueueNode(ctx, q, e.Object)
		},
		UpdateFunc: func(ctx context.Context, e event.TypedUpdateEvent[*corev1.Node], q queue) {
			if e.ObjectOld.Spec.Unschedulable != e.ObjectNew.Spec.Unschedulable || !equality.Semantic.DeepEqual(e.ObjectOld.Spec.Taints, e.ObjectNew.Spec.Taints) ||
				!equality.Semantic.DeepEqual(e.ObjectOld.Status.Conditions, e.ObjectNew.Status.Conditions) {
				r.enqueueNode(ctx, q, e.ObjectNew)
			}
		},
	}
}

func (r *Reconciler) enqueueNode(ctx context.Context, q queue, node *corev1.Node) {
	var pods corev1.PodList
	if err := r.Client.List(ctx, &pods, client.MatchingFields{nodeIndex: node.Name}, client.UnsafeDisableDeepCopy); err != nil {
		log.FromContext(ctx).Error(err, "Listing the pods of a node failed, their jobs are not reconciled", "node", node.Name)
		return
	}
	for i := range pods.Items {
		enqueue(q, &pods.Items[i])
	}
}
