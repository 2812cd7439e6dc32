package inplace

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func TestWorkerContainerAndStoreAddress(t *testing.T) {
	worker := func(words ...string) corev1.Container { return corev1.Container{Name: "worker", Command: words} }
	helper := corev1.Container{Name: "helper"}
	sidecar := func(args []string, env ...corev1.EnvVar) []corev1.Container {
		return []corev1.Container{{Name: "agent", Args: args, Env: append(env, corev1.EnvVar{Name: "JOBSET_UID"})}}
	}
	store := corev1.EnvVar{Name: "VALKEY_ADDRESS", Value: "valkey:6379"}
	supervised := worker("/holdfast/holdfast-exec", "--", "train")
	supervised.Env = []corev1.EnvVar{store}
	for name, tc := range map[string]struct {
		pod           corev1.PodSpec
		worker, store string
	}{
		"the only container":               {corev1.PodSpec{Containers: []corev1.Container{worker("train")}}, "worker", ""},
		"none of several is named":         {corev1.PodSpec{Containers: []corev1.Container{worker("train"), helper}}, "", ""},
		"the one with the supervisor":      {corev1.PodSpec{Containers: []corev1.Container{helper, supervised}}, "worker", "valkey:6379"},
		"the one that a variable names":    {corev1.PodSpec{InitContainers: sidecar(nil, store, corev1.EnvVar{Name: "WORKER_CONTAINER_NAME", Value: "worker"}), Containers: []corev1.Container{helper, worker()}}, "worker", "valkey:6379"},
		"the one that a flag names":        {corev1.PodSpec{InitContainers: sidecar([]string{"--worker-container-name=worker", "--valkey-address=other:1"}, store), Containers: []corev1.Container{helper, worker()}}, "worker", "other:1"},
		"a flag that refers to a variable": {corev1.PodSpec{InitContainers: sidecar([]string{"--valkey-address=$(ADDRESS)"}), Containers: []corev1.Container{worker()}}, "worker", ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := WorkerContainer(&tc.pod); got != tc.worker {
				t.Errorf("the worker is %q, want %q", got, tc.worker)
			}
			if got := StoreAddress(&tc.pod); got != tc.store {
				t.Errorf("the store is at %q, want %q", got, tc.store)
			}
		})
	}
}
