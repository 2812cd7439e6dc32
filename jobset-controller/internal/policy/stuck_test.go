package policy

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

func TestOverdue(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	pod := &corev1.Pod{}
	if Overdue(pod, time.Minute, now) >= 0 {
		t.Error("a pod that is not being deleted is overdue")
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
