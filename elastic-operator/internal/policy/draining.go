package policy

import (
	"slices"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
)

// keepsOut reports whether a node is cordoned, or has a taint that would keep out a pod like this one: autoscalers, drains and whoever
// distrusts a node put one on before the pods go.
func keepsOut(node *corev1.Node, pod *corev1.Pod) bool {
	return node.Spec.Unschedulable || slices.ContainsFunc(node.Spec.Taints, func(taint corev1.Taint) bool {
		hard := taint.Effect == corev1.TaintEffectNoSchedule || taint.Effect == corev1.TaintEffectNoExecute
		return hard && !tolerates(pod, &taint)
	})
}

// tolerates for good. A pod that puts up with a taint for some seconds, as all do with a node that is not ready, is about to go.
func tolerates(pod *corev1.Pod, taint *corev1.Taint) bool {
	return slices.ContainsFunc(pod.Spec.Tolerations, func(t corev1.Toleration) bool {
		return t.TolerationSeconds == nil && t.ToleratesTaint(logr.Discard(), taint, true)
	})
}
