//go:build envtest

package charts

import (
	"path/filepath"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/shared/testing/apiserver"
)

// A real API server takes every object of the plain manifests as kubectl sends them, in their order, and a second time. One that does not
// know a field of ours would have dropped it in silence: it is told to refuse.
func TestPlainManifestsAreApplied(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "config", "*.yaml"))
	if err != nil || len(files) < 5 {
		t.Fatalf("there are %d files (%v)", len(files), err)
	}
	_, k8s := apiserver.ForTest(t, runtime.NewScheme())
	k8s = client.WithFieldValidation(k8s, "Strict")
	for _, round := range []string{"first", "second"} {
		for _, file := range files {
			for _, object := range parse(t, file, string(mustRead(t, file))) {
				if err := apply(t, k8s, object); err != nil {
					t.Fatalf("%s time, %s: %s %s: %v", round, filepath.Base(file), object.GetKind(), object.GetName(), err)
				}
			}
		}
	}
}

func apply(t *testing.T, k8s client.Client, object *unstructured.Unstructured) error {
	t.Helper()
	return k8s.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(object), client.FieldOwner("kubectl"))
}
