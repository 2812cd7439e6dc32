// Package nodes decides whether the API server has evidence that nothing runs on a node. The manager uses it before it
// force-deletes pods of deleted Jobs, and the orchestrator before it replaces a worker. It is pure.
//
//	no Node object of the name                  dead: a Node may be deleted only once its machine is off
//	taint node.kubernetes.io/out-of-service     dead: a person or a program that has switched it off confirms it
//	the kubelet does not report (Unknown)       dead after the time that the JobSet sets, and never without one
//	the kubelet reports that it is not ready    alive: it ends pods, or will
package nodes

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Dead returns the evidence that nothing runs on a node, or "". A nil node does not exist in the API server. A silent kubelet may
// be disconnected while its pods run: only the user who sets after knows that a node is off if it is silent for so long (0 means
// never).
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

// Unready reports whether a node's kubelet does not work, for any reason, so that it may never end a terminating pod. A node
// without a condition has a new kubelet.
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
