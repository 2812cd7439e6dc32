package rescheduling

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-project/holdfast/rescheduler/internal/testing/pods"
	"github.com/holdfast-project/holdfast/shared/bootstrap/podcache"
)

// full returns a pod as the API server sends it, with the fields that make pods large.
func full(name string) *corev1.Pod {
	pod := pods.Make(name, noon).Change(owned(workload("w"))).Again("Error", 1, 3, noon).
		Condition(corev1.PodReadyToStartContainers, corev1.ConditionTrue, "", noon).Condition(corev1.PodInitialized, corev1.ConditionTrue, "", noon).
		Condition(corev1.PodReady, corev1.ConditionTrue, "", noon).Condition(corev1.ContainersReady, corev1.ConditionTrue, "", noon).
		Condition(corev1.PodScheduled, corev1.ConditionTrue, "", noon).Obj()
	pod.Labels = map[string]string{"app": "training", "pod-template-hash": "5d4f8c7b9", "team": "research"}
	pod.Annotations = map[string]string{"kubectl.kubernetes.io/last-applied-configuration": strings.Repeat("x", 2000)}
	pod.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubelet", FieldsV1: metav1.NewFieldsV1(`{"f:status":{}}`)}}
	grace := int64(30) // the API server's default
	pod.Spec.TerminationGracePeriodSeconds = &grace
	c := &pod.Spec.Containers[0]
	c.Image = "registry.example/team/worker:v1"
	c.Resources.Limits = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("16Gi"), corev1.ResourceCPU: resource.MustParse("8")}
	for i := range 20 {
		c.Env = append(c.Env, corev1.EnvVar{Name: fmt.Sprint("VARIABLE_", i), Value: strings.Repeat("x", 40)})
	}
	seconds := int64(300)
	for _, key := range []string{"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"} {
		pod.Spec.Tolerations = append(pod.Spec.Tolerations, corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: &seconds})
	}
	return pod
}

// 50,000 pods must fit into 512 MiB, together with the garbage collector and the rest of the program.
func TestCachedPodIsSmall(t *testing.T) {
	const n, most = 2000, 4608
	content, err := json.Marshal(full("p"))
	if err != nil {
		t.Fatal(err)
	}
	kept := make([]any, 0, n)
	before := heap()
	for range n {
		var pod corev1.Pod // decoded, so that it has its own strings, as if received from the network
		if err := json.Unmarshal(content, &pod); err != nil {
			t.Fatal(err)
		}
		slim, err := podcache.Strip(stripPod).Transform(&pod)
		if err != nil {
			t.Fatal(err)
		}
		kept = append(kept, slim)
	}
	each := (heap() - before) / n
	t.Logf("%d bytes for each pod, %d MiB for 50,000", each, each*50_000>>20)
	if each > most {
		t.Errorf("a pod takes %d bytes, at most %d", each, most)
	}
	runtime.KeepAlive(kept)
}

func heap() int {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int(stats.HeapAlloc)
}
