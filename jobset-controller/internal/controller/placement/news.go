package placement

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/holdfast-project/holdfast/jobset-controller/internal/plan/exclusive"
)

// worthALook lets only those changes of pods through by which a pass could decide otherwise. A pass looks at all pods of a Job, and
// most changes are reports of kubelets: when thousands of containers restart, each of them says so twice.
var worthALook = predicate.Funcs{
	UpdateFunc: func(e event.UpdateEvent) bool {
		before, isPod := e.ObjectOld.(*corev1.Pod)
		now, stillPod := e.ObjectNew.(*corev1.Pod)
		return !isPod || !stillPod || moved(before, now)
	},
}

// moved tells whether what a pass reads of a pod has changed. Of a leader that is its conditions too: they say why it waits.
func moved(before, now *corev1.Pod) bool {
	return before.UID != now.UID || before.Spec.NodeName != now.Spec.NodeName || before.DeletionTimestamp.IsZero() != now.DeletionTimestamp.IsZero() ||
		over(before) != over(now) || !slices.Equal(before.Spec.SchedulingGates, now.Spec.SchedulingGates) ||
		!maps.Equal(before.Spec.NodeSelector, now.Spec.NodeSelector) || !maps.Equal(before.Annotations, now.Annotations) ||
		exclusive.Leads(now) && now.Spec.NodeName == "" && message(before) != message(now)
}

// over is the phase of a pod that has finished, "" of any other.
func over(pod *corev1.Pod) corev1.PodPhase {
	if phase := pod.Status.Phase; phase == corev1.PodSucceeded || phase == corev1.PodFailed {
		return phase
	}
	return ""
}

// message is what a waiting leader's event quotes.
func message(pod *corev1.Pod) string {
	if len(pod.Status.Conditions) == 0 {
		return ""
	}
	return pod.Status.Conditions[0].Message
}
