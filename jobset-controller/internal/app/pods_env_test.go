//go:build envtest

package app

import (
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/plan/exclusive"
)

// podsArePlaced creates pods of a Job while the webhooks are served, and again after the manager has stopped. Without
// the manager, the API server must reject the pods that need the webhook, and only those.
func podsArePlaced(t *testing.T, k8s client.Client, stop func()) {
	t.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default", Namespace: "default"}} // no controller creates it in this test
	if err := client.IgnoreAlreadyExists(k8s.Create(t.Context(), account)); err != nil {
		t.Fatal(err)
	}
	leader, follower := jobPod("0", v1alpha2.ExclusiveKey), jobPod("1", v1alpha2.ExclusiveKey)
	for _, pod := range []*corev1.Pod{leader, follower} {
		if err := k8s.Create(t.Context(), pod); err != nil {
			t.Fatal(err)
		}
	}
	if leader.Spec.Affinity == nil || leader.Labels[v1alpha2.PriorityKey] != "0" || exclusive.Held(leader) {
		t.Errorf("the leader is not prepared: %+v", leader.Spec)
	}
	if !exclusive.Held(follower) {
		t.Errorf("the follower does not wait for its leader: %+v", follower.Spec)
	}
	stop()
	for name, c := range map[string]struct {
		pod     *corev1.Pod
		created bool
	}{
		"a pod that is placed exclusively": {jobPod("2", v1alpha2.ExclusiveKey), false},
		"a pod that is not":                {jobPod("2"), true},
		"a pod whose nodes were reserved":  {jobPod("2", v1alpha2.ExclusiveKey, v1alpha2.NodeSelectorStrategyKey), true},
		"a pod without a JobSet":           {&corev1.Pod{ObjectMeta: metav1.ObjectMeta{GenerateName: "plain-", Namespace: "default"}, Spec: podSpec()}, true},
	} {
		err := k8s.Create(t.Context(), c.pod)
		if created := err == nil; created != c.created {
			t.Errorf("%s without a manager: %v", name, err)
		}
	}
}

// jobPod returns a pod with the annotations that the Job controller sets.
func jobPod(index string, annotations ...string) *corev1.Pod {
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "x-w-0", UID: "x"}}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			GenerateName: "x-w-0-" + index + "-", Namespace: "default",
			Labels:          map[string]string{v1alpha2.JobSetNameKey: "x", v1alpha2.JobKey: "k"},
			Annotations:     map[string]string{batchv1.JobCompletionIndexAnnotation: index},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(job, batchv1.SchemeGroupVersion.WithKind("Job"))},
		},
		Spec: podSpec(),
	}
	for _, key := range annotations {
		pod.Annotations[key] = "example.com/rack"
	}
	return pod
}

func podSpec() corev1.PodSpec {
	return corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}
}
