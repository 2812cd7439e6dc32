package policy

import (
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"

	"github.com/holdfast-project/holdfast/shared/coordination/epoch"
)

// reasonRejected describes pods that were rejected by their kubelet. Kubelets use many status reasons for this, but such pods never have a
// container.
const reasonRejected = "its node rejected it"

// Observe returns the state of a pod. node is the pod's node, or nil if it does not exist. A node that is not ready for lostAfter is
// considered lost.
func Observe(pod *corev1.Pod, node *corev1.Node, lostAfter time.Duration, now time.Time) Pod {
	p := Pod{
		UID: pod.UID, Phase: pod.Status.Phase, Terminating: pod.DeletionTimestamp != nil, Bound: pod.Spec.NodeName != "",
		Created: pod.CreationTimestamp.Time, Disruption: disruption(pod),
	}
	_, p.Supervised = pod.Annotations[epoch.Annotation]
	p.Ready = slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
	p.ExitCode = -1
	if t := failedContainer(pod); t != nil {
		p.ExitCode, p.ExitReason, p.Began, p.Finished = t.ExitCode, t.Reason, t.StartedAt.Time, t.FinishedAt.Time
	}
	p.ExceededLimits = exceededLimits(pod)
	for _, c := range pod.Status.ContainerStatuses {
		p.Restarts += c.RestartCount
	}
	if p.Bound {
		p.Node, p.LostAt = nodeState(node, lostAfter, now)
		if p.Node == NodeOK && draining(node, pod) {
			p.Node = NodeDraining
		}
	}
	return p
}

// disruption returns a description of how the pod was disrupted, or an empty string. All components of Kubernetes that disrupt a pod set the
// DisruptionTarget condition, except kubelets that reject a pod.
func disruption(pod *corev1.Pod) string {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.DisruptionTarget && c.Status == corev1.ConditionTrue {
			return "it was disrupted: " + c.Reason
		}
	}
	if pod.Status.Phase == corev1.PodFailed && pod.Status.Reason != "" && pod.Status.Reason != reasonOverdue && !ran(pod) && !exceededLimits(pod) {
		return reasonRejected
	}
	return ""
}

// reasonOverdue is the status reason of a pod that exceeded the activeDeadlineSeconds in its spec.
const reasonOverdue = "DeadlineExceeded"

// ran reports whether any container of the pod has run.
func ran(pod *corev1.Pod) bool {
	has := func(c corev1.ContainerStatus) bool { return c.State.Terminated != nil || c.RestartCount > 0 }
	return slices.ContainsFunc(pod.Status.ContainerStatuses, has) || slices.ContainsFunc(pod.Status.InitContainerStatuses, has)
}

// exceededLimits reports whether the kubelet evicted the pod because it exceeded its own limits, which would happen on any node. If the node
// was low on resources instead, the message begins with "The node ".
func exceededLimits(pod *corev1.Pod) bool {
	return pod.Status.Reason == "Evicted" && pod.Status.Message != "" && !strings.HasPrefix(pod.Status.Message, "The node ")
}

// failedContainer returns the state of the first container that has failed, or nil.
func failedContainer(pod *corev1.Pod) *corev1.ContainerStateTerminated {
	for _, c := range slices.Concat(pod.Status.ContainerStatuses, pod.Status.InitContainerStatuses) {
		if t := c.State.Terminated; t != nil && t.ExitCode != 0 {
			return t
		}
	}
	return nil
}

// nodeState returns NodeLost or NodeOK. lostAt is when a node that is not ready is considered lost.
func nodeState(node *corev1.Node, lostAfter time.Duration, now time.Time) (state NodeState, lostAt time.Time) {
	if node == nil || slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.Key == corev1.TaintNodeOutOfService }) {
		return NodeLost, now
	}
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady && c.Status != corev1.ConditionTrue {
			lostAt = c.LastTransitionTime.Add(lostAfter)
			if !now.Before(lostAt) {
				return NodeLost, lostAt
			}
		}
	}
	return NodeOK, lostAt
}

// Lost reports whether a node is lost. A nil node does not exist and is lost.
func Lost(node *corev1.Node, lostAfter time.Duration, now time.Time) bool {
	state, _ := nodeState(node, lostAfter, now)
	return state == NodeLost
}

// draining reports whether a node is cordoned or has a taint that keeps pods like this one away. Autoscalers and operators taint a node
// before they delete its pods.
func draining(node *corev1.Node, pod *corev1.Pod) bool {
	return node.Spec.Unschedulable || slices.ContainsFunc(node.Spec.Taints, func(taint corev1.Taint) bool {
		repels := taint.Effect == corev1.TaintEffectNoSchedule || taint.Effect == corev1.TaintEffectNoExecute
		return repels && !toleratesForever(pod, &taint)
	})
}

// toleratesForever reports whether the pod tolerates the taint without a time limit. A pod that tolerates it only for tolerationSeconds, as
// all pods do for nodes that are not ready, will be evicted soon.
func toleratesForever(pod *corev1.Pod, taint *corev1.Taint) bool {
	return slices.ContainsFunc(pod.Spec.Tolerations, func(t corev1.Toleration) bool {
		return t.TolerationSeconds == nil && t.ToleratesTaint(logr.Discard(), taint, true)
	})
}
