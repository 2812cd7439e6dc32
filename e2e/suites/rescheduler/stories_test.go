//go:build e2e

package rescheduler

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/rescheduler/api/memory"
)

func (b *bench) deployment(replicas int32, template corev1.PodTemplateSpec) *appsv1.Deployment {
	b.Helper()
	d := &appsv1.Deployment{ObjectMeta: b.meta("w"), Spec: appsv1.DeploymentSpec{Replicas: ptr.To(replicas), Selector: selector, Template: template}}
	b.OK(k8s.Create(b.Context(), d))
	return d
}

// Story 1 is about nodes that are short of memory. A container that is killed for exceeding its own limit would be
// killed on any node. An event informs the user, and the pod is not moved.
func TestAPodThatExceedsItsOwnLimitIsNotMoved(t *testing.T) {
	b := newBench(t)
	d := b.deployment(1, worker(outOfMemory))
	b.said("WorkloadFault", "its own memory limit")
	b.OK(k8s.Get(t.Context(), client.ObjectKeyFromObject(d), d))
	if m := memory.Read(d.Annotations); m.Times != 0 {
		t.Errorf("moves are charged: %+v", m)
	}
}

// Story 2: the kubelet rejects a pod that its node cannot run. The replacement runs on another node, with either
// scheduler.
func TestARejectedPodIsReplacedOnAnotherNode(t *testing.T) {
	for name, change := range map[string]func(*corev1.PodSpec){
		"with the cluster's scheduler": func(*corev1.PodSpec) {},
		"with the plugin":              byPlugin,
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			d := b.deployment(1, worker(forbidden, change))
			// Until the rescheduler has observed the first rejection, the ReplicaSet creates one pod after another.
			if failed := b.elsewhere(1); failed > 20 {
				t.Errorf("%d pods were rejected before", failed)
			}
			b.remembers(d, 1, "NodeFeature")
			for _, pod := range b.pods() {
				if !real(pod.Spec.NodeName) && len(memory.Hosts(pod.Annotations)) != 1 {
					t.Errorf("the replacement's annotations are %v", pod.Annotations)
				}
			}
		})
	}
}

// With a device plugin that cannot allocate the devices it advertises, the kubelet rejects every pod that the scheduler
// assigns to the node.
func TestAPodWithoutItsDeviceIsReplacedOnAnotherNode(t *testing.T) {
	b := newBench(t)
	b.offerBrokenDevices(8)
	d := b.deployment(2, worker(oneDevice))
	b.elsewhere(2)
	b.remembers(d, 1, "AdmissionError")
	for _, pod := range b.pods() {
		if real(pod.Spec.NodeName) && pod.Status.Reason != "UnexpectedAdmissionError" {
			t.Errorf("pod %s was rejected: %s: %s", pod.Name, pod.Status.Reason, pod.Status.Message)
		}
	}
}

// A node that rejects all replicas at the same time is one fault, and causes one move.
func TestANodeThatRejectsAllReplicas(t *testing.T) {
	b := newBench(t)
	d := b.deployment(20, worker(forbidden))
	b.elsewhere(20)
	b.remembers(d, 1, "NodeFeature")
}

func TestAStatefulSetsPodKeepsItsName(t *testing.T) {
	b := newBench(t)
	set := &appsv1.StatefulSet{ObjectMeta: b.meta("web"), Spec: appsv1.StatefulSetSpec{
		ServiceName: "web", Replicas: ptr.To[int32](1), Selector: selector, Template: worker(forbidden),
	}}
	b.OK(k8s.Create(t.Context(), set))
	b.elsewhere(1)
	b.remembers(set, 1, "NodeFeature")
	m := memory.Read(set.Annotations)
	if pods := b.pods(); len(pods) != 1 || pods[0].Name != "web-0" || m.LastMove("web-0").IsZero() {
		t.Errorf("pods %d, memory %+v", len(pods), m)
	}
}

// The Jobs of a JobSet are recreated, so the exclusions are kept on the JobSet.
func TestExclusionsAreKeptOnTheJobSet(t *testing.T) {
	b := newBench(t)
	template := worker(forbidden)
	template.Spec.RestartPolicy = corev1.RestartPolicyNever
	js := &v1alpha2.JobSet{ObjectMeta: b.meta("set"), Spec: v1alpha2.JobSetSpec{ReplicatedJobs: []v1alpha2.ReplicatedJob{{
		Name: "w", Replicas: 1, Template: batchv1.JobTemplateSpec{Spec: batchv1.JobSpec{
			Parallelism: ptr.To[int32](2), Completions: ptr.To[int32](2), CompletionMode: ptr.To(batchv1.IndexedCompletion), BackoffLimit: ptr.To[int32](6), Template: template,
		}},
	}}}}
	b.OK(k8s.Create(t.Context(), js))
	b.elsewhere(2)
	b.remembers(js, 1, "NodeFeature")
}
