package apiserver

import (
	"os"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// InstallWebhooks creates the webhook configurations from a generated file, with a manager's URL instead of its Service, and an empty
// certificate Secret in the default namespace.
func InstallWebhooks(t *testing.T, k8s client.Client, file, url, secret string) {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	objects := []client.Object{&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: secret}}}
	for document := range strings.SplitSeq(string(content), "---\n") {
		if document == "" {
			continue
		}
		objects = append(objects, at(t, url, document))
	}
	for _, object := range objects {
		if err := k8s.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
}

func at(t *testing.T, url, document string) *unstructured.Unstructured {
	t.Helper()
	configuration := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(document), &configuration.Object); err != nil {
		t.Fatal(err)
	}
	hooks, _, _ := unstructured.NestedSlice(configuration.Object, "webhooks")
	for _, hook := range hooks {
		path, _, _ := unstructured.NestedString(hook.(map[string]any), "clientConfig", "service", "path")
		hook.(map[string]any)["clientConfig"] = map[string]any{"url": url + path}
	}
	if err := unstructured.SetNestedSlice(configuration.Object, hooks, "webhooks"); err != nil {
		t.Fatal(err)
	}
	return configuration
}
