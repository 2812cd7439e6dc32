//go:build e2e && e2e_all

package elastic

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/e2e/suites"
	"github.com/holdfast-project/holdfast/elastic-operator/api/v1alpha1"
)

// TestWithKueue uses Kueue's real manager for quota. There is enough quota for three workers. Later steps depend on
// earlier ones.
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

	// The job wants four workers and needs two. Three are admitted.
	b.create(b.job("part", 2, 4, 4, queued("low")))
	job := b.await("part", v1alpha1.StateRunning, 3)
	if job.Spec.GrantedReplicas == nil || *job.Spec.GrantedReplicas != 3 || *job.Spec.ReplicaSpecs.Worker.Replicas != 4 {
		t.Errorf("granted %v", job.Spec.GrantedReplicas)
	}
	b.awaitWorkload("part", "PodsReady")

	// Kueue does not react when a worker is lost or replicas changes.
	pod := b.worker("part", 1)
	b.OK(k8s.Delete(t.Context(), pod))
	b.Until("the worker is replaced", func(ctx context.Context) error {
		again := &corev1.Pod{}
		if err := k8s.Get(ctx, client.ObjectKeyFromObject(pod), again); err != nil || again.UID == pod.UID {
			return fmt.Errorf("it is not replaced (%v)", err)
		}
		return nil
	})
	b.scale("part", 2)
	b.await("part", v1alpha1.StateRunning, 2)
	b.scale("part", 3)
	b.await("part", v1alpha1.StateRunning, 3)

	// There is no room for the next job. It waits without pods.
	b.create(b.job("next", 1, 1, 1, queued("low"), endsAfter(2)))
	next := b.await("next", v1alpha1.StateSuspended, 0)
	if next.Status.Message == "" {
		t.Error("the status does not show what the job is waiting for")
	}

	// A job with a higher priority preempts the first and later returns the quota. Kueue then decides which waiting job
	// to admit first: the preempted one gets three workers, or the remaining two, which are enough.
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

	b.comesBackWithoutTheCompleted()
	b.leavesJobsOfOthersAlone()
	b.placesByTopology()
}

// comesBackWithoutTheCompleted preempts a job after one of its workers has completed. Kueue does not reserve quota for that
// worker again, and the two others run until they complete.
func (b *bench) comesBackWithoutTheCompleted() {
	b.Helper()
	b.create(b.job("most", 1, 3, 3, queued("low")))
	b.await("most", v1alpha1.StateRunning, 3)
	b.kill(b.worker("most", 2), unix.SIGUSR2)
	b.await("most", v1alpha1.StateRunning, 2)
	b.create(b.job("hasty", 3, 3, 3, queued("high"), endsAfter(5)))
	b.await("most", v1alpha1.StateSuspended, 0)
	b.await("hasty", v1alpha1.StateSucceeded, 0)
	job := b.await("most", v1alpha1.StateRunning, 2)
	if job.Spec.GrantedReplicas == nil || *job.Spec.GrantedReplicas != 3 || job.Status.CompletedIndexes != "2" || job.Status.Resumes != 1 {
		b.Errorf("granted %v, completed %q, resumed %d times", job.Spec.GrantedReplicas, job.Status.CompletedIndexes, job.Status.Resumes)
	}
	b.awaitWorkload("most", "PodsReady")
	for i := range 2 {
		b.kill(b.worker("most", i), unix.SIGUSR2)
	}
	b.await("most", v1alpha1.StateSucceeded, 0)
}

// leavesJobsOfOthersAlone checks that Kueue admits a job that another controller manages, while the operator creates no
// pods for it and does not update it.
func (b *bench) leavesJobsOfOthersAlone() {
	b.Helper()
	b.create(b.job("elsewhere", 1, 1, 1, queued("low"), func(j *v1alpha1.ElasticJob) { j.Spec.ManagedBy = ptr.To("example.com/another") }))
	b.awaitWorkload("elsewhere", "Admitted")
	b.Until("elsewhere is started", func(context.Context) error {
		if s := b.get("elsewhere").Spec; s.Suspend || s.GrantedReplicas == nil {
			return fmt.Errorf("suspended %t, granted %v", s.Suspend, s.GrantedReplicas)
		}
		return nil
	})
	b.create(b.job("ours", 1, 1, 1, queued("low"), endsAfter(1)))
	b.await("ours", v1alpha1.StateSucceeded, 0) // the operator has had enough time by now
	for _, pod := range b.pods() {
		if strings.HasPrefix(pod.Name, "elsewhere-") {
			b.Errorf("the operator has created pod %s of a job that another controller manages", pod.Name)
		}
	}
	job := b.get("elsewhere")
	if diff := cmp.Diff(v1alpha1.ElasticJobStatus{}, job.Status); diff != "" {
		b.Errorf("the operator has written its status: %s", diff)
	}
	b.OK(k8s.Delete(b.Context(), job))
}

// placesByTopology requires all workers to be on one host. They have distinct indexes. Kueue gates each pod, including
// a replacement pod, until it has a place for it.
func (b *bench) placesByTopology() {
	b.Helper()
	b.makeTopologyQueue()
	b.create(b.job("rack", 1, 2, 2, queued("low"), func(j *v1alpha1.ElasticJob) {
		j.Labels[v1alpha1.QueueLabel] = topologyQueue
		j.Spec.ReplicaSpecs.Worker.Template.Annotations = map[string]string{"kueue.x-k8s.io/podset-required-topology": corev1.LabelHostname}
	}))
	b.await("rack", v1alpha1.StateRunning, 2)
	workload := b.workload("rack")
	sets, _, _ := unstructured.NestedSlice(workload.Object, "spec", "podSets")
	request, _, _ := unstructured.NestedStringMap(sets[0].(map[string]any), "topologyRequest")
	if request["required"] != corev1.LabelHostname || request["podIndexLabel"] != v1alpha1.ReplicaIndexLabel {
		b.Errorf("the topology request is %v", sets[0].(map[string]any)["topologyRequest"])
	}
	assigned, _, _ := unstructured.NestedSlice(workload.Object, "status", "admission", "podSetAssignments")
	if _, placed := assigned[0].(map[string]any)["topologyAssignment"]; !placed {
		b.Errorf("admitted without a topology assignment: %v", assigned)
	}
	old := b.worker("rack", 1)
	b.OK(k8s.Delete(b.Context(), old))
	b.replaced("rack", 1, old, time.Now())
	if pod := b.worker("rack", 1); pod.Spec.NodeSelector[corev1.LabelHostname] == "" || len(pod.Spec.SchedulingGates) > 0 {
		b.Errorf("the pod is not bound to its assigned host: node selector %v, gates %v", pod.Spec.NodeSelector, pod.Spec.SchedulingGates)
	}
	b.OK(k8s.Delete(b.Context(), b.get("rack")))
	b.awaitNoPodOf("rack")
}

func (b *bench) awaitNoPodOf(job string) {
	b.Helper()
	b.Until("no pod of "+job+" is left", func(context.Context) error {
		for _, pod := range b.pods() {
			if strings.HasPrefix(pod.Name, job+"-") {
				return fmt.Errorf("%s is left", pod.Name)
			}
		}
		return nil
	})
}

func queued(priority string) func(*v1alpha1.ElasticJob) {
	return func(j *v1alpha1.ElasticJob) {
		j.Labels = map[string]string{v1alpha1.QueueLabel: "queue", "kueue.x-k8s.io/priority-class": priority}
	}
}

func kueueObject(kind, name string, fields map[string]any) *unstructured.Unstructured {
	o := suites.KueueObject(kind, name, nil)
	maps.Copy(o.Object, fields)
	return o
}

// makeQueue creates a queue with room for three workers of 20m CPU each.
func (b *bench) makeQueue() {
	b.Helper()
	suites.MakeQueue(b, k8s,
		kueueObject("WorkloadPriorityClass", "low", map[string]any{"value": int64(1)}),
		kueueObject("WorkloadPriorityClass", "high", map[string]any{"value": int64(100)}),
		kueueObject("ResourceFlavor", b.NS, nil),
		b.clusterQueue(b.NS),
		b.localQueue("queue", b.NS),
	)
}

const topologyQueue = "racks"

// makeTopologyQueue creates a queue of the same size, on nodes that Kueue places pods on individually.
func (b *bench) makeTopologyQueue() {
	b.Helper()
	name := b.NS + "-" + topologyQueue
	suites.MakeQueue(b, k8s,
		kueueObject("Topology", name, map[string]any{"spec": map[string]any{"levels": []any{map[string]any{"nodeLabel": corev1.LabelHostname}}}}),
		kueueObject("ResourceFlavor", name, map[string]any{"spec": map[string]any{
			"topologyName": name, "nodeLabels": map[string]any{corev1.LabelOSStable: "linux"},
		}}),
		b.clusterQueue(name),
		b.localQueue(topologyQueue, name),
	)
}

func (b *bench) localQueue(name, of string) *unstructured.Unstructured {
	local := suites.KueueObject("LocalQueue", name, map[string]any{"clusterQueue": of})
	local.SetNamespace(b.NS)
	return local
}

// clusterQueue returns a ClusterQueue for the namespace, with quota for three workers and a flavor of the same name.
func (b *bench) clusterQueue(name string) *unstructured.Unstructured {
	return kueueObject("ClusterQueue", name, map[string]any{"spec": map[string]any{
		"namespaceSelector": map[string]any{"matchLabels": map[string]any{corev1.LabelMetadataName: b.NS}},
		"preemption":        map[string]any{"withinClusterQueue": "LowerPriority"},
		"resourceGroups": []any{map[string]any{
			"coveredResources": []any{"cpu"},
			"flavors":          []any{map[string]any{"name": name, "resources": []any{map[string]any{"name": "cpu", "nominalQuota": "60m"}}}},
		}},
	}})
}

// awaitWorkload waits until a job's workload has a condition.
func (b *bench) awaitWorkload(job, condition string) {
	b.Helper()
	b.Until("the workload of "+job+" is "+condition, func(context.Context) error {
		conditions, _, _ := unstructured.NestedSlice(b.workload(job).Object, "status", "conditions")
		for _, c := range conditions {
			if c := c.(map[string]any); c["type"] == condition && c["status"] == "True" {
				return nil
			}
		}
		return fmt.Errorf("it is not: %v", conditions)
	})
}

// workload waits for a job's workload and returns it.
func (b *bench) workload(job string) *unstructured.Unstructured {
	b.Helper()
	var found *unstructured.Unstructured
	b.Until("there is a workload of "+job, func(ctx context.Context) error {
		list := &unstructured.UnstructuredList{}
		list.SetAPIVersion("kueue.x-k8s.io/v1beta2")
		list.SetKind("WorkloadList")
		if err := k8s.List(ctx, list, client.InNamespace(b.NS)); err != nil {
			return err
		}
		i := slices.IndexFunc(list.Items, func(w unstructured.Unstructured) bool {
			return len(w.GetOwnerReferences()) > 0 && w.GetOwnerReferences()[0].Name == job
		})
		if i < 0 {
			return fmt.Errorf("none of %d workloads belongs to it", len(list.Items))
		}
		found = &list.Items[i]
		return nil
	})
	return found
}
