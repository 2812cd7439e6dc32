package policy

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

func TestDead(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	ready := func(status corev1.ConditionStatus, since time.Duration) *corev1.Node {
		return &corev1.Node{Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{
			{Type: corev1.NodeReady, Status: status, LastTransitionTime: metav1.NewTime(now.Add(-since))},
			{Type: corev1.NodeDiskPressure, Status: corev1.ConditionUnknown, LastTransitionTime: metav1.NewTime(now.Add(-time.Hour))}}}}
	}
	out := ready(corev1.ConditionTrue, time.Hour)
	out.Spec.Taints = []corev1.Taint{{Key: "node.kubernetes.io/out-of-service", Effect: corev1.TaintEffectNoExecute}}
	tainted := ready(corev1.ConditionTrue, time.Hour)
	tainted.Spec.Taints = []corev1.Taint{{Key: "node.kubernetes.io/unschedulable"}}
	for name, c := range map[string]struct {
		node *corev1.Node
		want string // in the evidence; empty: none
	}{
		"a node that is gone":                         {nil, "does not exist"},
		"a node that somebody says is out of service": {out, "out of service"},
		"a kubelet that is silent for the whole time": {ready(corev1.ConditionUnknown, time.Minute), "not been heard of since 2025-12-31T23:59:00Z"},
		"a kubelet that is silent for a moment":       {ready(corev1.ConditionUnknown, 59*time.Second), ""},
		"a kubelet that says it is not ready lives":   {ready(corev1.ConditionFalse, time.Hour), ""},
		"a node that works":                           {ready(corev1.ConditionTrue, time.Hour), ""},
		"a node that is cordoned":                     {tainted, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := Dead(c.node, time.Minute, now)
			if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
				t.Errorf("evidence %q, want %q", got, c.want)
			}
		})
	}
}

func TestOverdue(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	pod := &corev1.Pod{}
	if Overdue(pod, time.Minute, now) >= 0 {
		t.Error("a pod that nobody deletes is overdue")
	}
	pod.DeletionTimestamp = ptr.To(metav1.NewTime(now.Add(-50 * time.Second)))
	if got := Overdue(pod, time.Minute, now); got != -10*time.Second {
		t.Errorf("got %s", got)
	}
	if got := Overdue(pod, 30*time.Second, now); got != 20*time.Second {
		t.Errorf("got %s", got)
	}
}

func TestStuckPodTimeout(t *testing.T) {
	const key = "holdfast.dev/stuck-pod-timeout"
	for value, want := range map[string]string{"90s": "", "soon": `"soon" is not a duration`, "": "is empty", "10ms": "below the minimum of 1s"} {
		timeout, problem := StuckPodTimeout(map[string]string{key: value})
		switch {
		case want == "" && (problem != nil || timeout != 90*time.Second):
			t.Errorf("%q: %s, %v", value, timeout, problem)
		case want != "" && (problem == nil || timeout != 0 || !strings.Contains(problem.Message, want)):
			t.Errorf("%q: %s, %v", value, timeout, problem)
		}
	}
	if timeout, problem := StuckPodTimeout(nil); timeout != 0 || problem != nil {
		t.Error("a JobSet that does not opt in has a limit")
	}
}
