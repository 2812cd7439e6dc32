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

// gather is how long news of a pod wait for more. Pods of a job start, and fail, within moments of each other: one look, one write.
const gather = 50 * time.Millisecond

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// podNews wakes the job of a pod when something has changed that is looked at.
func podNews() handler.EventHandler {
	return handler.Funcs{
		CreateFunc: func(_ context.Context, e event.CreateEvent, q queue) { wake(q, e.Object) },
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, q queue) { wake(q, e.Object) },
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, q queue) {
			before, isPod := e.ObjectOld.(*corev1.Pod)
			after, isPodToo := e.ObjectNew.(*corev1.Pod)
			if !isPod || !isPodToo || podChanged(before, after) {
				wake(q, e.ObjectNew)
			}
		},
	}
}

func podChanged(before, after *corev1.Pod) bool {
	return before.UID != after.UID || before.Spec.NodeName != after.Spec.NodeName ||
		before.DeletionTimestamp.IsZero() != after.DeletionTimestamp.IsZero() || !equality.Semantic.DeepEqual(before.Status, after.Status)
}

// serviceNews wakes the job of a service that somebody has deleted.
func serviceNews() handler.EventHandler {
	return handler.Funcs{DeleteFunc: func(_ context.Context, e event.DeleteEvent, q queue) { wake(q, e.Object) }}
}

func wake(q queue, object client.Object) {
	if owner(object) == "" {
		return
	}
	q.AddAfter(reconcile.Request{NamespacedName: types.NamespacedName{
		Namespace: object.GetNamespace(), Name: metav1.GetControllerOfNoCopy(object).Name,
	}}, gather)
}

// jobNews drops what is remembered of a job that is gone. Few are seen on their way out.
func (r *Reconciler) jobNews() handler.TypedEventHandler[*v1alpha1.ElasticJob, reconcile.Request] {
	return handler.TypedFuncs[*v1alpha1.ElasticJob, reconcile.Request]{
		DeleteFunc: func(_ context.Context, e event.TypedDeleteEvent[*v1alpha1.ElasticJob], _ queue) {
			r.expected.forget(e.Object.UID)
			r.asked.forget(e.Object.UID)
		},
	}
}

// nodeNews wakes the jobs that have pods on a node that comes, goes, or changes in what is looked at.
func (r *Reconciler) nodeNews() handler.TypedEventHandler[*corev1.Node, reconcile.Request] {
	return handler.TypedFuncs[*corev1.Node, reconcile.Request]{
		CreateFunc: func(ctx context.Context, e event.TypedCreateEvent[*corev1.Node], q queue) {
			r.wakeNode(ctx, q, e.Object)
		},
		DeleteFunc: func(ctx context.Context, e event.TypedDeleteEvent[*corev1.Node], q queue) {
			r.wakeNode(ctx, q, e.Object)
		},
		UpdateFunc: func(ctx context.Context, e event.TypedUpdateEvent[*corev1.Node], q queue) {
			if e.ObjectOld.Spec.Unschedulable != e.ObjectNew.Spec.Unschedulable || !equality.Semantic.DeepEqual(e.ObjectOld.Spec.Taints, e.ObjectNew.Spec.Taints) ||
				!equality.Semantic.DeepEqual(e.ObjectOld.Status.Conditions, e.ObjectNew.Status.Conditions) {
				r.wakeNode(ctx, q, e.ObjectNew)
			}
		},
	}
}

func (r *Reconciler) wakeNode(ctx context.Context, q queue, node *corev1.Node) {
	var pods corev1.PodList
	if err := r.Client.List(ctx, &pods, client.MatchingFields{nodeIndex: node.Name}, client.UnsafeDisableDeepCopy); err != nil {
		log.FromContext(ctx).Error(err, "Listing the pods of a node", "node", node.Name)
		return
	}
	for i := range pods.Items {
		wake(q, &pods.Items[i])
	}
}
