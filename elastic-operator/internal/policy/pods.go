package policy

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// outside are reasons in the status of a pod by which kubelets and controllers say that they have ended it.
var outside = map[string]string{
	"Evicted":                  "it was evicted",
	"Preempting":               "the kubelet made room for a pod that matters more",
	"NodeShutdown":             "its node was shut down",
	"Shutdown":                 "its node was shut down",
	"Terminated":               "its node was shut down",
	"NodeLost":                 "its node is lost",
	"NodeAffinity":             "its node did not take it",
	"UnexpectedAdmissionError": "its node did not take it",
	"OutOfcpu":                 "its node did not take it",
	"OutOfmemory":              "its node did not take it",
	"OutOfpods":                "its node did not take it",
}

// Observe a pod. node is the one it is bound to, nil if there is no such node (any more). lostAfter is how long a node may be not ready.
func Observe(pod *corev1.Pod, node *corev1.Node, lostAfter time.Duration, now time.Time) Pod {
	p := Pod{
		UID: pod.UID, Phase: phase(pod.Status.Phase), Terminating: pod.DeletionTimestamp != nil, Bound: pod.Spec.NodeName != "",
		Created: pod.CreationTimestamp.Time, Disruption: disruption(pod),
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			p.Ready = c.Status == corev1.ConditionTrue
		}
	}
	p.ExitCode, p.ExitReason = exit(pod)
	for _, c := range pod.Status.ContainerStatuses {
		p.Restarts += c.RestartCount
	}
	if p.Bound {
		p.Node, p.LostAt = nodeState(node, lostAfter, now)
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

// disruption says what befell the pod from outside. The condition is the newer way; kubelets that reject or shut down write a reason.
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
	return outside[pod.Status.Reason]
}

// exit code of the first container that has failed; -1 if none says one.
func exit(pod *corev1.Pod) (code int32, reason string) {
	for _, c := range pod.Status.ContainerStatuses {
		if t := c.State.Terminated; t != nil && t.ExitCode != 0 {
			return t.ExitCode, t.Reason
		}
	}
	for _, c := range pod.Status.InitContainerStatuses {
		if t := c.State.Terminated; t != nil && t.ExitCode != 0 {
			return t.ExitCode, t.Reason
		}
	}
	return -1, ""
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
	if node.Spec.Unschedulable {
		state = NodeCordoned
	}
	return state, lostAt
}

// Lost tells whether the workers on a node count as lost. nil is a node that does not exist.
func Lost(node *corev1.Node, lostAfter time.Duration, now time.Time) bool {
	state, _ := nodeState(node, lostAfter, now)
	return state == NodeLost
}
