package suites

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestAQueueHasItsQuotasInOneGroup(t *testing.T) {
	objects := QueueOf("ns", Quota{"cpu", "1"}, Quota{"memory", "8Gi"})
	var made []string
	for _, o := range objects {
		made = append(made, o.GetKind()+" "+o.GetNamespace()+"/"+o.GetName())
	}
	if diff := cmp.Diff([]string{"ResourceFlavor /ns", "ClusterQueue /ns", "LocalQueue ns/queue"}, made); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	groups, _, err := unstructured.NestedSlice(objects[1].Object, "spec", "resourceGroups")
	want := []any{map[string]any{
		"coveredResources": []any{"cpu", "memory"},
		"flavors": []any{map[string]any{"name": "ns", "resources": []any{
			map[string]any{"name": "cpu", "nominalQuota": "1"}, map[string]any{"name": "memory", "nominalQuota": "8Gi"},
		}}},
	}}
	if diff := cmp.Diff(want, groups); err != nil || diff != "" {
		t.Errorf("error %v (-want +got)\n%s", err, diff)
	}
}
