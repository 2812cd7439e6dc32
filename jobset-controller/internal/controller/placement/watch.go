package placement

import (
	"context"
	"maps"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/holdfast-project/holdfast/jobset-controller/internal/plan/exclusive"
)

// A reconcile reads all pods of a Job, so one reconcile for each of a thousand pods would read a million. Events of the leader are
// not debounced, because the other pods wait for its node.
const (
	// debounceHeld is for followers that wait for a domain, which may be known by now.
	debounceHeld = 250 * time.Millisecond
	// debounceOthers is for all other events: where a follower is, and its deletion.
	debounceOthers = time.Second
)

// debounce returns how long the event of a pod may wait for others of the same Job.
func debounce(pod *corev1.Pod) time.Duration {
	_, indexed := pod.Annotations[batchv1.JobCompletionIndexAnnotation] // without indexes all pods lead, and none follows
	switch {
	case indexed && exclusive.Leads(pod):
		return 0
	case exclusive.Held(pod):
		return debounceHeld
	}
	return debounceOthers
}

// podEvents enqueues the Jobs of exclusively placed pods.
func podEvents() handler.EventHandler {
	type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]
	enqueue := func(object client.Object, q queue) {
		pod, is := object.(*corev1.Pod)
		if !is || exclusive.Topology(pod) == "" {
			return
		}
		if job := controllingJob(pod); job != nil {
			q.AddAfter(reconcile.Request{NamespacedName: types.NamespacedName{Namespace: pod.Namespace, Name: job.Name}}, debounce(pod))
		}
	}
	return handler.Funcs{
		CreateFunc: func(_ context.Context, e event.CreateEvent, q queue) { enqueue(e.Object, q) },
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, q queue) { enqueue(e.ObjectNew, q) },
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, q queue) { enqueue(e.Object, q) },
	}
}

// relevantChanges selects the changes of pods that could change a decision. A reconcile reads all pods of a Job, and most changes
// are status updates of kubelets: when thousands of containers restart, each causes two.
var relevantChanges = predicate.Funcs{
	UpdateFunc: func(e event.UpdateEvent) bool {
		before, isPod := e.ObjectOld.(*corev1.Pod)
		now, stillPod := e.ObjectNew.(*corev1.Pod)
		return !isPod || !stillPod || moved(before, now)
	},
}

// moved reports whether a relevant part of a pod has changed. For a leader that includes its conditions, which show why it waits.
func moved(before, now *corev1.Pod) bool {
	return before.UID != now.UID || before.Spec.NodeName != now.Spec.NodeName || before.DeletionTimestamp.IsZero() != now.DeletionTimestamp.IsZero() ||
		over(before) != over(now) || !slices.Equal(before.Spec.SchedulingGates, now.Spec.SchedulingGates) ||
		!maps.Equal(before.Spec.NodeSelector, now.Spec.NodeSelector) || !maps.Equal(before.Annotations, now.Annotations) ||
		exclusive.Leads(now) && now.Spec.NodeName == "" && message(before) != message(now)
}

// over returns the phase of a pod that has finished, "" for any other.
func over(pod *corev1.Pod) corev1.PodPhase {
	if phase := pod.Status.Phase; phase == corev1.PodSucceeded || phase == corev1.PodFailed {
		return phase
	}
	return ""
}

// message returns the text that the event about a waiting leader quotes.
func message(pod *corev1.Pod) string {
	if len(pod.Status.Conditions) == 0 {
		return ""
	}
	return pod.Status.Conditions[0].Message
}
