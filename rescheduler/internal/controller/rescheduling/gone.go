package rescheduling

import (
	"context"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/holdfast-project/holdfast/rescheduler/internal/owners"
	"github.com/holdfast-project/holdfast/rescheduler/internal/signals"
)

// goneFor is how long a failed pod is still handled after it was deleted.
const goneFor = 2 * time.Minute

// failedPods holds pods in phase Failed from the watch event that showed the failure until they are reconciled. A StatefulSet deletes a
// failed pod within milliseconds and gives its name to the replacement. The cache may then hold only the terminating pod or the
// replacement, and the failure would be missed. A restart of the process loses the pods that wait here.
type failedPods struct {
	mu   sync.Mutex
	pods map[client.ObjectKey]*corev1.Pod
}

// note adds a pod that has failed on a node. A failure after the deletion is not evidence against the node, and failures of a bare pod are not recorded after
// its end.
func (f *failedPods) note(pod *corev1.Pod) {
	if pod.Status.Phase != corev1.PodFailed || pod.Spec.NodeName == "" || !pod.DeletionTimestamp.IsZero() || owners.ControllerUID(pod) == "" {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.pods) < noted {
		f.pods[client.ObjectKeyFromObject(pod)] = pod
	}
}

// of returns the failed pod of that name; nil if there is none.
func (f *failedPods) of(key client.ObjectKey) *corev1.Pod {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.pods[key]
}

// drop removes a pod that was handled, unless another pod of that name has failed since.
func (f *failedPods) drop(pod *corev1.Pod) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if key := client.ObjectKeyFromObject(pod); f.pods[key] != nil && f.pods[key].UID == pod.UID {
		delete(f.pods, key)
	}
}

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// watchPods enqueues every changed pod, and records pods that have failed.
func (r *Reconciler) watchPods() handler.EventHandler {
	enqueue := func(pod client.Object, q queue) {
		if pod, ok := pod.(*corev1.Pod); ok {
			r.failed.note(pod)
		}
		q.Add(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(pod)})
	}
	return handler.Funcs{
		CreateFunc: func(_ context.Context, e event.CreateEvent, q queue) { enqueue(e.Object, q) },
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, q queue) { enqueue(e.ObjectNew, q) },
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, q queue) { enqueue(e.Object, q) },
	}
}

// reconcile handles the failed pod of that name that is deleted or terminating, if there is one, and the pod that has the name now.
func (r *Reconciler) reconcile(ctx context.Context, request reconcile.Request) (ctrl.Result, error) {
	var pod corev1.Pod
	err := r.Client.Get(ctx, request.NamespacedName, &pod)
	if client.IgnoreNotFound(err) != nil {
		return ctrl.Result{}, err
	}
	stays := err == nil && pod.DeletionTimestamp.IsZero()
	var result ctrl.Result
	if failed := r.failed.of(request.NamespacedName); failed != nil && (!stays || failed.UID != pod.UID) {
		if result, err = r.reconcileGone(ctx, failed); err != nil {
			return ctrl.Result{}, err
		}
	}
	if !stays {
		return result, nil
	}
	now, err := r.Reconcile(ctx, &pod)
	if err == nil && now.RequeueAfter == 0 && pod.Status.Phase == corev1.PodFailed { // the cache shows the failure
		r.failed.drop(&pod)
	}
	return ctrl.Result{RequeueAfter: soonest(result.RequeueAfter, now.RequeueAfter)}, err
}

// reconcileGone handles a failed pod that was deleted, until nothing is left to wait for.
func (r *Reconciler) reconcileGone(ctx context.Context, pod *corev1.Pod) (ctrl.Result, error) {
	result, err := r.Reconcile(ctx, pod.DeepCopy())
	if waits := err != nil || result.RequeueAfter > 0; waits && r.Clock.Now().Sub(signals.FailedAt(pod)) < goneFor {
		return result, err
	}
	r.failed.drop(pod)
	return ctrl.Result{}, err
}
