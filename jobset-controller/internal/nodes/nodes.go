// Package nodes decides whether the API server has evidence that nothing is running on a node. The manager uses it
// before force-deleting pods of deleted Jobs, and the orchestrator before replacing a worker. It performs no I/O.
//
//	no Node object with the name               dead: a Node may be deleted only once its machine is off
//	taint node.kubernetes.io/out-of-service    dead: a person or program has confirmed that the node is switched off
//	the kubelet does not report (Unknown)      dead after the time set on the JobSet; without it, never
//	the kubelet reports that it is not ready   alive: it terminates pods, or will do so
package nodes

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Dead returns the evidence that nothing is running on a node, or "". A nil node does not exist in the API server. A
// silent kubelet may be disconnected while its pods are still running: only the user who sets after knows that a node
// silent for that long is off (0 means never).
func Dead(node *corev1.Node, after time.Duration, now time.Time) string {
	switch since, silent := silence(node); {
	case node == nil:
		return "its node is gone"
	case outOfService(node):
		return fmt.Sprintf("its node %s is out of service", node.Name)
	case silent && after > 0 && now.Sub(since) >= after:
		return fmt.Sprintf("the kubelet of its node %s has not been heard of since %s, which is %s or more",
			node.Name, since.UTC().Format(time.RFC3339), after)
	}
	return ""
}

// Unready reports whether a node's kubelet is not working, for any reason, and therefore may never end a terminating
// pod. A node without the condition has a new kubelet.
func Unready(node *corev1.Node) bool {
	c := ready(node)
	return node == nil || (c != nil && c.Status != corev1.ConditionTrue)
}

func silence(node *corev1.Node) (since time.Time, silent bool) {
	c := ready(node)
	if c == nil || c.Status != corev1.ConditionUnknown {
		return time.Time{}, false
	}
	return c.LastTransitionTime.Time, true
}

func ready(node *corev1.Node) *corev1.NodeCondition {
	if node == nil {
		return nil
	}
	for i := range node.Status.Conditions {
		if node.Status.Conditions[i].Type == corev1.NodeReady {
			return &node.Status.Conditions[i]
		}
	}
	return nil
}

func outOfService(node *corev1.Node) bool {
	for _, taint := range node.Spec.Taints {
		if taint.Key == corev1.TaintNodeOutOfService {
			return true
		}
	}
	return false
}
