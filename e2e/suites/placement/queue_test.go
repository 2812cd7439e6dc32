//go:build e2e && e2e_all

package placement

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/e2e/fakes/kubelet"
	"github.com/holdfast-project/holdfast/e2e/framework"
)

// queue is the name of each test's LocalQueue.
const queue = "queue"

// flavor is a number of CPUs on nodes with the labels.
type flavor struct {
	name   string
	labels map[string]string
	cpus   string
}

// clusterQueue is the ClusterQueue of one test.
type clusterQueue struct {
	name    string
	flavors []flavor
}

// makeQueue creates a LocalQueue in the namespace with its ClusterQueue and flavors, and removes all of them at the end
// of the test.
func makeQueue(t *testing.T, ns string, flavors ...flavor) *clusterQueue {
	t.Helper()
	q := &clusterQueue{name: ns, flavors: flavors}
	objects := []*unstructured.Unstructured{}
	for _, f := range flavors {
		labels := map[string]any{kubelet.TypeLabel: kubelet.Type}
		for key, value := range f.labels {
			labels[key] = value
		}
		objects = append(objects, kueueObject("ResourceFlavor", "", f.name, map[string]any{
			"nodeLabels":  labels,
			"tolerations": []any{map[string]any{"key": kubelet.TaintKey, "operator": "Exists", "effect": "NoSchedule"}},
		}))
	}
	local := kueueObject("LocalQueue", ns, queue, map[string]any{"clusterQueue": ns})
	for _, object := range append(objects, kueueObject("ClusterQueue", "", ns, q.spec()), local) {
		await(t, object.GetKind()+" is made", func(ctx context.Context) error {
			return client.IgnoreAlreadyExists(shared.Client.Create(ctx, object))
		})
		t.Cleanup(func() { removeObject(t, object) })
	}
	t.Cleanup(func() { removeJobSets(t, ns) }) // runs first, because a queue in use cannot be deleted
	return q
}

// removeObject deletes an object and returns once Kueue has removed its finalizer.
func removeObject(t *testing.T, object *unstructured.Unstructured) {
	ctx := context.Background()
	err := framework.Until(ctx, object.GetKind()+" is gone", func(ctx context.Context) error {
		if err := client.IgnoreNotFound(shared.Client.Delete(ctx, object)); err != nil {
			return err
		}
		if err := shared.Client.Get(ctx, client.ObjectKeyFromObject(object), object.DeepCopy()); client.IgnoreNotFound(err) != nil || err == nil {
			return fmt.Errorf("it still exists (%v)", err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func (q *clusterQueue) spec() map[string]any {
	var flavors []any
	for _, f := range q.flavors {
		flavors = append(flavors, map[string]any{
			"name": f.name, "resources": []any{map[string]any{"name": "cpu", "nominalQuota": f.cpus}},
		})
	}
	return map[string]any{
		"namespaceSelector": map[string]any{"matchLabels": map[string]any{corev1.LabelMetadataName: q.name}},
		"resourceGroups":    []any{map[string]any{"coveredResources": []any{"cpu"}, "flavors": flavors}},
	}
}

// setQuota changes a flavor's quota.
func (q *clusterQueue) setQuota(t *testing.T, name, cpus string) {
	t.Helper()
	for i := range q.flavors {
		if q.flavors[i].name == name {
			q.flavors[i].cpus = cpus
		}
	}
	await(t, "the quota is changed", func(ctx context.Context) error {
		object := kueueObject("ClusterQueue", "", q.name, nil)
		if err := shared.Client.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
			return err
		}
		if err := unstructured.SetNestedField(object.Object, q.spec()["resourceGroups"], "spec", "resourceGroups"); err != nil {
			return err
		}
		return shared.Client.Update(ctx, object)
	})
}

// workload returns the workload of an object.
func workload(ctx context.Context, ns, kind, name string) (*unstructured.Unstructured, error) {
	list := &unstructured.UnstructuredList{}
	list.SetAPIVersion(kueueVersion)
	list.SetKind("WorkloadList")
	if err := shared.Client.List(ctx, list, client.InNamespace(ns)); err != nil {
		return nil, err
	}
	for i := range list.Items {
		for _, owner := range list.Items[i].GetOwnerReferences() {
			if owner.Kind == kind && owner.Name == name {
				return &list.Items[i], nil
			}
		}
	}
	return nil, fmt.Errorf("%s %s has no workload", kind, name)
}

// activate activates or deactivates a JobSet's workload.
func activate(t *testing.T, ns, jobSet string, active bool) {
	t.Helper()
	await(t, fmt.Sprintf("the workload is active: %t", active), func(ctx context.Context) error {
		w, err := workload(ctx, ns, "JobSet", jobSet)
		if err != nil {
			return err
		}
		return shared.Client.Patch(ctx, w, client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"spec":{"active":%t}}`, active)))
	})
}

// condition returns the status of a condition, or "".
func condition(object *unstructured.Unstructured, kind string) string {
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	for _, c := range conditions {
		if c := c.(map[string]any); c["type"] == kind {
			return c["status"].(string)
		}
	}
	return ""
}

// admittedPods returns the number of pods that a workload has quota for.
func admittedPods(w *unstructured.Unstructured) int64 {
	assignments, _, _ := unstructured.NestedSlice(w.Object, "status", "admission", "podSetAssignments")
	var n int64
	for _, a := range assignments {
		count, _, _ := unstructured.NestedInt64(a.(map[string]any), "count")
		n += count
	}
	return n
}

const kueueVersion = "kueue.x-k8s.io/v1beta2"

func kueueObject(kind, ns, name string, spec map[string]any) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{}}
	if spec != nil {
		o.Object["spec"] = spec
	}
	o.SetAPIVersion(kueueVersion)
	o.SetKind(kind)
	o.SetNamespace(ns)
	o.SetName(name)
	return o
}
