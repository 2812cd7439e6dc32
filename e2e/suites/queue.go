package suites

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/e2e/framework"
)

// Queue is the name of the LocalQueue that QueueOf makes.
const Queue = "queue"

// Quota is so much of a resource, as a quantity.
type Quota struct{ Resource, Most string }

// KueueObject is one of Kueue's, without a namespace; spec may be nil.
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

// QueueOf is a queue in a namespace, with a ClusterQueue and a flavor of the namespace's name behind it, in the order in which they are
// to be made.
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

// MakeQueue makes such objects, which go with the test. The webhooks of a manager that has just begun may take a moment.
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
