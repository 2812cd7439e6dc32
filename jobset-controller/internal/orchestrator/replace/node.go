package replace

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// NodeGone says by what evidence nothing runs on a node any more, "" if there is none. The node is nil if the API server has
// none of the name. That a node is not ready is no evidence: its kubelet may be cut off while its workers run. Only who
// operates the nodes can say that one which was not ready for so long is off (after; 0: never).
func NodeGone(node *corev1.Node, now time.Time, after time.Duration) string {
	switch since, unready := notReady(node); {
	case node == nil:
		return "its node is gone"
	case outOfService(node):
		return fmt.Sprintf("its node %s is out of service", node.Name)
	case unready && after > 0 && now.Sub(since) >= after:
		return fmt.Sprintf("its node %s has not been ready for %s", node.Name, after)
	}
	return ""
}

// NodeUnready tells whether a node's kubelet does not do its work, so that it may never end a pod that is being deleted.
func NodeUnready(node *corev1.Node) bool {
	_, unready := notReady(node)
	return unready
}

func notReady(node *corev1.Node) (since time.Time, unready bool) {
	if node == nil {
		return time.Time{}, true
	}
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.LastTransitionTime.Time, c.Status != corev1.ConditionTrue
		}
	}
	return time.Time{}, false
}

// outOfService is said by hand, or by a program that has switched the node off.
func outOfService(node *corev1.Node) bool {
	for _, taint := range node.Spec.Taints {
		if taint.Key == corev1.TaintNodeOutOfService {
			return true
		}
	}
	return false
}
