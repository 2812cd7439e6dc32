//go:build e2e && e2e_all

package tests_elastic

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/elastic-operator/api/v1alpha1"
)

// TestWithKueue has Kueue's real manager give the quota, of which there is enough for three workers. Each step needs those before it.
func TestWithKueue(t *testing.T) {
	if err := shared.Cluster.Kueue(t.Context(), t.Output(), "batch/job", "ElasticJob.v1alpha1.elastic.pytorch.org"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := shared.Cluster.StopKueue(context.Background()); err != nil {
			t.Error(err)
		}
	})
	if err := release.Upgrade(t.Context(), values(true)); err != nil {
		t.Fatal(err)
	}
	b := newBench(t)
	b.makeQueue()

	// Four are wanted, two are enough, three are admitted.
	b.create(b.job("part", 2, 4, 4, queued("low")))
	job := b.await("part", v1alpha1.StateRunning, 3)
	if job.Spec.GrantedReplicas == nil || *job.Spec.GrantedReplicas != 3 || *job.Spec.ReplicaSpecs.Worker.Replicas != 4 {
		t.Errorf("granted %v", job.Spec.GrantedReplicas)
	}
	b.awaitWorkload("part", "PodsReady")

	// One worker less is no reason for Kueue to act, and neither is a change of replicas.
	pod := b.worker("part", 1)
	b.OK(k8s.Delete(t.Context(), pod))
	b.Until("the worker is replaced", func(ctx context.Context) error {
		again := &corev1.Pod{}
		if err := k8s.Get(ctx, client.ObjectKeyFromObject(pod), again); err != nil || again.UID == pod.UID {
			return fmt.Errorf("it is not (%v)", err)
		}
		return nil
	})
	b.scale("part", 2)
	b.await("part", v1alpha1.StateRunning, 2)
	b.scale("part", 3)
	b.await("part", v1alpha1.StateRunning, 3)

	// There is no room for the next: it waits, without a pod.
	b.create(b.job("next", 1, 1, 1, queued("low"), endsAfter(2)))
	next := b.await("next", v1alpha1.StateSuspended, 0)
	if next.Status.Message == "" {
		t.Error("it does not say what it waits for")
	}

	// What matters more takes the place and gives it back. Whom Kueue takes first then is its own affair: the one that it has taken the
	// place from gets all three workers, or the two that are left and enough.
	b.create(b.job("urgent", 3, 3, 3, queued("high"), endsAfter(5)))
	b.await("part", v1alpha1.StateSuspended, 0)
	b.await("urgent", v1alpha1.StateSucceeded, 0)
	b.Until("part is resumed", func(context.Context) error {
		job = b.get("part")
		active := job.Status.ReplicaStatuses.Worker.Active
		if job.Status.State != v1alpha1.StateRunning || active < 2 || job.Spec.GrantedReplicas == nil || active != *job.Spec.GrantedReplicas {
			return fmt.Errorf("it is %s with %d of %v: %s", job.Status.State, active, job.Spec.GrantedReplicas, job.Status.Message)
		}
		return nil
	})
	if job.Status.Resumes != 1 || job.Status.Restarts != 0 {
		t.Errorf("resumed %d times, restarts %d", job.Status.Resumes, job.Status.Restarts)
	}
	b.OK(k8s.Delete(t.Context(), job))
	b.await("next", v1alpha1.StateSucceeded, 0)
}

func queued(priority string) func(*v1alpha1.ElasticJob) {
	return func(j *v1alpha1.ElasticJob) {
		j.Labels = map[string]string{v1alpha1.QueueLabel: "queue", "kueue.x-k8s.io/priority-class": priority}
	}
}

func kueueObject(kind, name string, fields map[string]any) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{}}
	for key, value := range fields {
		o.Object[key] = value
	}
	o.SetAPIVersion("kueue.x-k8s.io/v1beta2")
	o.SetKind(kind)
	o.SetName(name)
	return o
}

// makeQueue has room for three workers of 20m.
func (b *bench) makeQueue() {
	b.Helper()
	local := kueueObject("LocalQueue", "queue", map[string]any{"spec": map[string]any{"clusterQueue": b.NS}})
	local.SetNamespace(b.NS)
	for _, object := range []*unstructured.Unstructured{
		kueueObject("WorkloadPriorityClass", "low", map[string]any{"value": int64(1)}),
		kueueObject("WorkloadPriorityClass", "high", map[string]any{"value": int64(100)}),
		kueueObject("ResourceFlavor", b.NS, nil),
		kueueObject("ClusterQueue", b.NS, map[string]any{"spec": map[string]any{
			"namespaceSelector": map[string]any{"matchLabels": map[string]any{corev1.LabelMetadataName: b.NS}},
			"preemption":        map[string]any{"withinClusterQueue": "LowerPriority"},
			"resourceGroups": []any{map[string]any{
				"coveredResources": []any{"cpu"},
				"flavors":          []any{map[string]any{"name": b.NS, "resources": []any{map[string]any{"name": "cpu", "nominalQuota": "60m"}}}},
			}},
		}}),
		local,
	} {
		b.Until(object.GetKind()+" is made", func(ctx context.Context) error { return k8s.Create(ctx, object.DeepCopy()) })
		b.Cleanup(func() { _ = k8s.Delete(context.Background(), object) })
	}
}

// awaitWorkload waits until the workload of a job has a condition.
func (b *bench) awaitWorkload(job, condition string) {
	b.Helper()
	b.Until("the workload of "+job+" is "+condition, func(ctx context.Context) error {
		list := &unstructured.UnstructuredList{}
		list.SetAPIVersion("kueue.x-k8s.io/v1beta2")
		list.SetKind("WorkloadList")
		if err := k8s.List(ctx, list, client.InNamespace(b.NS)); err != nil {
			return err
		}
		for _, workload := range list.Items {
			conditions, _, _ := unstructured.NestedSlice(workload.Object, "status", "conditions")
			for _, c := range conditions {
				if c := c.(map[string]any); workload.GetOwnerReferences()[0].Name == job && c["type"] == condition && c["status"] == "True" {
					return nil
				}
			}
		}
		return fmt.Errorf("it is not, of %d workloads", len(list.Items))
	})
}
