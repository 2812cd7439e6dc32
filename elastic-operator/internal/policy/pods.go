package policy

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/holdfast-project/holdfast/shared/coordination/epoch"
)

// outside are reasons in the status of a pod by which kubelets and controllers say that they have ended it.
var outside = map[string]string{
	"Evicted":      "it was evicted",
	"Preempting":   "the kubelet made room for a pod that matters more",
	"NodeShutdown": "its node was shut down",
	"Shutdown":     "its node was shut down",
	"Terminated":   "its node was shut down",
	"NodeLost":     "its node is lost",
}

// reasonRejected is for pods that their kubelet has turned away before any container was made. It has a reason for each way to do so, and
// new ones come with its versions; that there was no container is what they have in common.
const reasonRejected = "its node did not take it"

// Observe a pod. node is the one it is bound to, nil if there is no such node (any more). lostAfter is how long a node may be not ready.
func Observe(pod *corev1.Pod, node *corev1.Node, lostAfter time.Duration, now time.Time) Pod {
	p := Pod{
		UID: pod.UID, Phase: phase(pod.Status.Phase), Terminating: pod.DeletionTimestamp != nil, Bound: pod.Spec.NodeName != "",
		Created: pod.CreationTimestamp.Time, Disruption: disruption(pod),
	}
	_, p.Supervised = pod.Annotations[epoch.Annotation]
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			p.Ready = c.Status == corev1.ConditionTrue
		}
	}
	p.ExitCode = -1
	if t := exit(pod); t != nil {
		p.ExitCode, p.ExitReason, p.Began, p.Finished = t.ExitCode, t.Reason, t.StartedAt.Time, t.FinishedAt.Time
	}
	p.Overran = overran(pod)
	for _, c := range pod.Status.ContainerStatuses {
		p.Restarts += c.RestartCount
	}
	if p.Bound {
		p.Node, p.LostAt = nodeState(node, lostAfter, now)
		if p.Node == NodeFine && keepsOut(node, pod) {
			p.Node = NodeDraining
		}
	}
	return p
}

func phase(phase corev1.PodPhase) Phase {
	switch phase {
	case corev1.PodRunning:
		return Running
	case corev1.PodSucceeded:
		return Succeeded
	case corev1.PodFailed:
		return Failed
	}
	return Pending
}

// disruption returns what disrupted the pod; empty if nothing did. The condition is the newer way; kubelets that reject or shut down write a reason.
func disruption(pod *corev1.Pod) string {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.DisruptionTarget && c.Status == corev1.ConditionTrue {
			switch c.Reason {
			case corev1.PodReasonPreemptionByScheduler:
				return "it was preempted"
			case "EvictionByEvictionAPI":
				return "it was evicted"
			case "DeletionByTaintManager":
				return "its node has a taint that it does not tolerate"
			}
			return "it was disrupted: " + c.Reason
		}
	}
	switch known, is := outside[pod.Status.Reason]; {
	case overran(pod):
		return ""
	case is:
		return known
	case pod.Status.Phase == corev1.PodFailed && pod.Status.Reason != "" && pod.Status.Reason != reasonOverdue && !ran(pod):
		return reasonRejected
	}
	return ""
}

// reasonOverdue is that of a pod with an activeDeadlineSeconds of its own.
const reasonOverdue = "DeadlineExceeded"

func ran(pod *corev1.Pod) bool {
	has := func(c corev1.ContainerStatus) bool { return c.State.Terminated != nil || c.RestartCount > 0 }
	return slices.ContainsFunc(pod.Status.ContainerStatuses, has) || slices.ContainsFunc(pod.Status.InitContainerStatuses, has)
}

// overran: the kubelet has evicted the pod for what it used beyond its own limits, and would again anywhere. If the node was short of something
// the message begins with that.
func overran(pod *corev1.Pod) bool {
	return pod.Status.Reason == "Evicted" && pod.Status.Message != "" && !strings.HasPrefix(pod.Status.Message, "The node ")
}

// exit returns the state of the first container that has failed; nil if none has.
func exit(pod *corev1.Pod) *corev1.ContainerStateTerminated {
	for _, c := range slices.Concat(pod.Status.ContainerStatuses, pod.Status.InitContainerStatuses) {
		if t := c.State.Terminated; t != nil && t.ExitCode != 0 {
			return t
		}
	}
	return nil
}

func nodeState(node *corev1.Node, lostAfter time.Duration, now time.Time) (state NodeState, lostAt time.Time) {
	if node == nil {
		return NodeLost, now
	}
	for _, t := range node.Spec.Taints {
		if t.Key == corev1.TaintNodeOutOfService {
			return NodeLost, now
		}
	}
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady && c.Status != corev1.ConditionTrue {
			lostAt = c.LastTransitionTime.Add(lostAfter)
			if !now.Before(lostAt) {
				return NodeLost, lostAt
			}
		}
	}
	return NodeFine, lostAt
}

// Lost reports whether the workers on a node count as lost. nil is a node that does not exist.
func Lost(node *corev1.Node, lostAfter time.Duration, now time.Time) bool {
	state, _ := nodeState(node, lostAfter, now)
	return state == NodeLost
}
