package elasticjob

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-project/holdfast/elastic-operator/api/v1alpha1"
	"github.com/holdfast-project/holdfast/elastic-operator/internal/policy"
)

// The cache keeps only some fields of a pod, and must keep all fields that the policy reads.
func TestCacheKeepsTheFieldsThatThePolicyReads(t *testing.T) {
	noon := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	node := &corev1.Node{Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}}}
	ended := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
		ExitCode: 1, Reason: "Error", StartedAt: metav1.NewTime(noon), FinishedAt: metav1.NewTime(noon.Add(time.Minute)),
	}}
	for name, status := range map[string]corev1.PodStatus{
		"failed":       {Phase: corev1.PodFailed, ContainerStatuses: []corev1.ContainerStatus{{Name: "worker", State: ended}}},
		"setup failed": {Phase: corev1.PodFailed, InitContainerStatuses: []corev1.ContainerStatus{{Name: "setup", State: ended}}},
		"restarted":    {Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{{Name: "worker", RestartCount: 2}}},
		"evicted": {Phase: corev1.PodFailed, Reason: "Evicted", Message: "The node was low on resource: memory.", Conditions: []corev1.PodCondition{
			{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: corev1.PodReasonTerminationByKubelet},
		}},
	} {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "u"}, Spec: corev1.PodSpec{NodeName: "n"}, Status: status}
		observe := func(pod *corev1.Pod) policy.Pod { return policy.Observe(pod, node, time.Minute, noon) }
		if diff := cmp.Diff(observe(pod), observe(stripPod(pod))); diff != "" {
			t.Errorf("%s (-whole +cached):\n%s", name, diff)
		}
	}
}

// The policy needs the server's start time to find the workers that lost their connection to it.
func TestCacheKeepsTheStartOfTheServer(t *testing.T) {
	start := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	server := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{v1alpha1.ReplicaTypeLabel: v1alpha1.ReplicaTypeRendezvous}},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{{
			Name: "rendezvous", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(start)}},
		}}},
	}
	if got := started(stripPod(server)); !got.Equal(start) {
		t.Errorf("it started at %v, want %v", got, start)
	}
}
