// Package nodes weighs what the API server says of a node on which a pod is to end: by what evidence nothing runs there any more. The
// manager asks it before it lets go of pods of Jobs that are deleted, the orchestrator before it replaces a worker. It is pure.
//
//	no Node object of the name            dead: whoever removes a node has made sure
//	taint node.kubernetes.io/out-of-service   dead: somebody, or a program that has switched it off, says so
//	its kubelet was not heard of (Unknown)    dead after the time that the JobSet gives, and never without one
//	its kubelet says that it is not ready     alive: it ends pods, or will
package nodes

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Dead gives the evidence that nothing runs on a node any more, or an empty text. A nil node is one that the API server does not
// have. A silent kubelet may be cut off while its pods run: only whoever sets `after` knows that a node which was silent for so
// long is off (0: never).
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

// Unready reports whether a node's kubelet does not do its work, for whatever reason, so that it may never end a pod that is being
// deleted. A node without a condition has a kubelet that is new.
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
