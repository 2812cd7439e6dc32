//go:build envtest

package app

import (
	"os"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/holdfast-project/holdfast/rescheduler/internal/settings"
)

// If a node rejects its pods, each example behaves as its comments describe.
func TestExamples(t *testing.T) {
	files, err := filepath.Glob("../../../examples/rescheduler/*.yaml")
	if err != nil || len(files) < 3 {
		t.Fatalf("examples: %v (%v)", files, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			w := newWorld(t, func(r *settings.Rescheduling) { r.BarePods.Recreate = true })
			w.plugin = true
			w.onBad(func() *corev1.PodStatus { return rejects("TopologyAffinityError") })
			content, err := os.ReadFile(file)
			w.ok(err)
			o := &unstructured.Unstructured{}
			w.ok(yaml.Unmarshal(content, &o.Object))
			o.SetNamespace(w.namespace)
			pods := 1
			at := []string{"spec", "template", "spec", "nodeSelector"}
			if o.GetKind() == "Pod" {
				at = at[2:]
				at[0] = "spec"
			}
			if n, found, _ := unstructured.NestedInt64(o.Object, "spec", "replicas"); found {
				pods = int(n)
			} else if n, found, _ := unstructured.NestedFloat64(o.Object, "spec", "replicas"); found {
				pods = int(n)
			}
			w.ok(unstructured.SetNestedStringMap(o.Object, map[string]string{"world": w.namespace}, at...))
			w.ok(w.Create(t.Context(), o))
			w.eventually("the pods do not run on the good node", w.runningOnGood(pods))
		})
	}
}
