//go:build envtest

package charts

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/kubectl/pkg/util"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/shared/testing/apiserver"
)

// A real API server twice accepts every object of the plain manifests, in the order of the manifests. Each object has
// the annotation in which `kubectl apply` stores it. Field validation is strict, because an unknown field would
// otherwise be dropped silently.
func TestAPIServerAcceptsPlainManifests(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(manifests(t), "*.yaml"))
	if err != nil || len(files) < 5 {
		t.Fatalf("found %d files (%v)", len(files), err)
	}
	k8s := strict(t)
	for _, round := range []string{"first", "second"} {
		for _, file := range files {
			for _, object := range parse(t, file, string(mustRead(t, file))) {
				if err := util.CreateApplyAnnotation(object, unstructured.UnstructuredJSONScheme); err != nil {
					t.Fatal(err)
				}
				if err := apply(t, k8s, object); err != nil {
					t.Fatalf("%s time, %s: %s %s: %v", round, filepath.Base(file), object.GetKind(), object.GetName(), err)
				}
			}
		}
	}
}

// cluster is an API server with the CRDs of the charts.
var cluster *rest.Config

func TestMain(m *testing.M) {
	var crds []string
	for chart := range definitions {
		crds = append(crds, filepath.Join(chart, "files", "crds"))
	}
	os.Exit(apiserver.Main(m, &cluster, crds...))
}

// strict returns a client whose writes are rejected if they contain an unknown field.
func strict(t *testing.T) client.Client {
	t.Helper()
	k8s, err := client.New(cluster, client.Options{Scheme: runtime.NewScheme()})
	if err != nil {
		t.Fatal(err)
	}
	return client.WithFieldValidation(k8s, "Strict")
}

// apply sends an object as kubectl does. Webhooks are removed when the test ends, because no program serves them.
func apply(t *testing.T, k8s client.Client, object *unstructured.Unstructured) error {
	t.Helper()
	if strings.HasSuffix(object.GetKind(), "WebhookConfiguration") {
		t.Cleanup(func() { _ = k8s.Delete(context.Background(), object) })
	}
	return k8s.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(object), client.FieldOwner("kubectl"))
}

// The API server accepts every example as written, with strict field validation. Kinds of other projects are skipped.
func TestAPIServerAcceptsExamples(t *testing.T) {
	k8s := client.NewDryRunClient(strict(t))
	files, err := filepath.Glob(filepath.Join("..", "examples", "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	below, err := filepath.Glob(filepath.Join("..", "examples", "*", "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	taken := 0
	for _, file := range append(files, below...) {
		for _, object := range parse(t, file, string(mustRead(t, file))) {
			if object.GetNamespace() == "" {
				object.SetNamespace("default")
			}
			err := k8s.Create(t.Context(), object)
			switch {
			case meta.IsNoMatchError(err):
				t.Logf("%s: %s is a foreign kind", file, object.GroupVersionKind())
			case err != nil && !apierrors.IsNotFound(err): // its namespace is missing
				t.Errorf("%s: %s %s: %v", file, object.GetKind(), object.GetName(), err)
			default:
				taken++
			}
		}
	}
	if taken < 15 {
		t.Errorf("only %d objects were accepted", taken)
	}
}

// The API server also accepts the objects that certain values enable, if their kinds are built into Kubernetes.
func TestAPIServerAcceptsOptionalObjects(t *testing.T) {
	k8s := strict(t)
	namespace := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "holdfast"}}}
	if err := apply(t, k8s, namespace); err != nil {
		t.Fatal(err)
	}
	for chart, entry := range installed {
		all := mustParse(t, chart, entry.settings["ha"]+"\nmetrics: {dashboards: {enabled: true}}\nnetworkPolicy: {enabled: true}\n")
		if len(all.find("ConfigMap")) < 3 || len(all.find("NetworkPolicy")) == 0 || len(all.find("PodDisruptionBudget")) == 0 {
			t.Errorf("%s: an object is missing", chart)
		}
		for _, object := range all {
			if err := apply(t, k8s, object); err != nil {
				t.Errorf("%s: %s %s: %v", chart, object.GetKind(), object.GetName(), err)
			}
		}
	}
}
