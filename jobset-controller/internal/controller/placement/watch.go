package placement

import (
	"maps"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"

	"github.com/holdfast-project/holdfast/jobset-controller/internal/plan/exclusive"
	"github.com/holdfast-project/holdfast/shared/bootstrap/requeue"
)

// A reconcile reads all pods of a Job, so a reconcile for each of a thousand pods would read a million. Events for the
// leader are not debounced, because the other pods are waiting for its node.
const (
	// debounceHeld applies to events for followers that are waiting for a domain, which may have become known.
	debounceHeld = 250 * time.Millisecond
	// debounceOthers applies to all other events: the binding of a follower, and its deletion.
	debounceOthers = time.Second
)

// debounce returns how long an event for a pod may wait for events for other pods of the same Job.
func debounce(pod *corev1.Pod) time.Duration {
	_, indexed := pod.Annotations[batchv1.JobCompletionIndexAnnotation] // in a Job without completion indexes, every pod is a leader
	switch {
	case indexed && exclusive.Leads(pod):
		return 0
	case exclusive.Held(pod):
		return debounceHeld
	}
	return debounceOthers
}

// podEvents enqueues the Jobs of exclusively placed pods. It ignores pod changes that could not affect a decision. A
// reconcile reads all pods of a Job, and most changes are status updates by kubelets: when thousands of containers
// restart, each restart causes two updates.
func podEvents() handler.EventHandler {
	return requeue.OnEvents(func(q requeue.Queue, before, object client.Object) {
		pod, is := object.(*corev1.Pod)
		if !is || exclusive.Topology(pod) == "" {
			return
		}
		if old, changed := before.(*corev1.Pod); !changed || moved(old, pod) {
			requeue.AddController(q, pod, jobs, debounce(pod))
		}
	})
}

// moved reports whether a relevant part of a pod has changed.
func moved(before, now *corev1.Pod) bool {
	return before.UID != now.UID || before.Spec.NodeName != now.Spec.NodeName || before.DeletionTimestamp.IsZero() != now.DeletionTimestamp.IsZero() ||
		over(before) != over(now) || !slices.Equal(before.Spec.SchedulingGates, now.Spec.SchedulingGates) ||
		!maps.Equal(before.Spec.NodeSelector, now.Spec.NodeSelector) || !maps.Equal(before.Annotations, now.Annotations)
}

// over returns the phase of a pod that has finished, or "" for any other pod.
func over(pod *corev1.Pod) corev1.PodPhase {
	if phase := pod.Status.Phase; phase == corev1.PodSucceeded || phase == corev1.PodFailed {
		return phase
	}
	return ""
}
