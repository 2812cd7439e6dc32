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
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Dead returns the evidence that nothing is running on a node, or "". A nil node does not exist in the API server. A
// silent kubelet may be disconnected while its pods are still running. Only the user, who sets after, knows how long a
// node must be silent to be considered off. 0 means that silence is never sufficient.
func Dead(node *corev1.Node, after time.Duration, now time.Time) string {
	if node == nil {
		return "its node is gone"
	}
	if slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.Key == corev1.TaintNodeOutOfService }) {
		return fmt.Sprintf("its node %s is out of service", node.Name)
	}
	c := ready(node)
	if c != nil && c.Status == corev1.ConditionUnknown && after > 0 && now.Sub(c.LastTransitionTime.Time) >= after {
		return fmt.Sprintf("the kubelet of its node %s has not been heard from since %s, which is %s or more",
			node.Name, c.LastTransitionTime.UTC().Format(time.RFC3339), after)
	}
	return ""
}

// Unready reports whether a node's kubelet is not working, for any reason, and therefore may never end a terminating
// pod. A node without the condition has a new kubelet.
func Unready(node *corev1.Node) bool {
	if node == nil {
		return true
	}
	c := ready(node)
	return c != nil && c.Status != corev1.ConditionTrue
}

func ready(node *corev1.Node) *corev1.NodeCondition {
	for i := range node.Status.Conditions {
		if node.Status.Conditions[i].Type == corev1.NodeReady {
			return &node.Status.Conditions[i]
		}
	}
	return nil
}
