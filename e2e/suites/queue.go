package suites

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/e2e/framework"
)

// Queue is the name of the LocalQueue that QueueOf returns.
const Queue = "queue"

// Quota is an amount of a resource, as a quantity.
type Quota struct{ Resource, Most string }

// KueueObject returns one of Kueue's objects without a namespace. spec may be nil.
func KueueObject(kind, name string, spec map[string]any) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{}}
	if spec != nil {
		o.Object["spec"] = spec
	}
	o.SetAPIVersion("kueue.x-k8s.io/v1beta2")
	o.SetKind(kind)
	o.SetName(name)
	return o
}

// QueueOf returns a LocalQueue in a namespace, with a ClusterQueue and a flavor that have the namespace's name, in the
// order in which they must be created.
func QueueOf(ns string, quotas ...Quota) []*unstructured.Unstructured {
	var names, resources []any
	for _, q := range quotas {
		names = append(names, q.Resource)
		resources = append(resources, map[string]any{"name": q.Resource, "nominalQuota": q.Most})
	}
	local := KueueObject("LocalQueue", Queue, map[string]any{"clusterQueue": ns})
	local.SetNamespace(ns)
	return []*unstructured.Unstructured{
		KueueObject("ResourceFlavor", ns, nil),
		KueueObject("ClusterQueue", ns, map[string]any{
			"namespaceSelector": map[string]any{"matchLabels": map[string]any{corev1.LabelMetadataName: ns}},
			"resourceGroups": []any{map[string]any{
				"coveredResources": names,
				"flavors":          []any{map[string]any{"name": ns, "resources": resources}},
			}},
		}),
		local,
	}
}

// MakeQueue creates the objects of a queue and removes them at the end of the test. It retries, because the webhooks of
// a manager that has just started may not respond immediately.
func MakeQueue(t testing.TB, k8s client.Client, objects ...*unstructured.Unstructured) {
	t.Helper()
	for _, object := range objects {
		err := framework.Until(t.Context(), object.GetKind()+" is made", func(ctx context.Context) error { return k8s.Create(ctx, object.DeepCopy()) })
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = k8s.Delete(context.Background(), object) })
	}
}
