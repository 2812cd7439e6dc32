package nodes

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestDead(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	node := func(ready corev1.ConditionStatus, since time.Duration, taints ...string) *corev1.Node {
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}, Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{
			{Type: corev1.NodeDiskPressure, Status: corev1.ConditionUnknown, LastTransitionTime: metav1.NewTime(now.Add(-24 * time.Hour))},
			{Type: corev1.NodeReady, Status: ready, LastTransitionTime: metav1.NewTime(now.Add(-since))},
		}}}
		for _, key := range taints {
			n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: key, Effect: corev1.TaintEffectNoExecute})
		}
		return n
	}
	const outOfService = "its node n1 is out of service"
	for name, c := range map[string]struct {
		node    *corev1.Node
		after   time.Duration
		want    string
		unready bool
	}{
		"a node that is ready":                         {node(corev1.ConditionTrue, time.Hour), time.Minute, "", false},
		"no node with the name":                        {nil, 0, "its node is gone", true},
		"a silent kubelet is not evidence":             {node(corev1.ConditionUnknown, time.Hour, corev1.TaintNodeUnreachable), 0, "", true},
		"unless the user has set a time":               {node(corev1.ConditionUnknown, time.Minute), time.Minute, "the kubelet of its node n1 has not been heard from since 2025-12-31T23:59:00Z, which is 1m0s or more", true},
		"a kubelet that has been silent for less time": {node(corev1.ConditionUnknown, time.Minute-time.Second), time.Minute, "", true},
		"a kubelet that reports NotReady is alive":     {node(corev1.ConditionFalse, time.Hour), time.Minute, "", true},
		"a node that has just become ready again":      {node(corev1.ConditionTrue, 0), time.Millisecond, "", false},
		"out of service":                               {node(corev1.ConditionUnknown, 0, corev1.TaintNodeOutOfService), 0, outOfService, true},
		"out of service although its kubelet reports":  {node(corev1.ConditionTrue, 0, corev1.TaintNodeOutOfService), 0, outOfService, false},
		"a node whose kubelet has never reported":      {&corev1.Node{}, time.Nanosecond, "", false},
		"a cordoned node is alive":                     {node(corev1.ConditionTrue, 0, corev1.TaintNodeUnschedulable), time.Minute, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Dead(c.node, c.after, now); got != c.want {
				t.Errorf("evidence %q, want %q", got, c.want)
			}
			if got := Unready(c.node); got != c.unready {
				t.Errorf("unready: %t, want %t", got, c.unready)
			}
		})
	}
}
