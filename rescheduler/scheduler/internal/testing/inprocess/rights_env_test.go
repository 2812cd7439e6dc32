//go:build envtest

package inprocess

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func bySecond(pod *corev1.Pod) { pod.Spec.SchedulerName = "holdfast-scheduler" }

// apply creates the objects of a configuration file, and deletes them when the test ends.
func (w *world) apply(file string) {
	w.Helper()
	content, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "..", "charts", "rescheduler", "files", "scheduler", file))
	w.ok(err)
	cluster, err := client.New(apiServer, client.Options{})
	w.ok(err)
	for documents := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(content), 4096); ; {
		object := &unstructured.Unstructured{}
		if err := documents.Decode(object); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			w.Fatal(err)
		}
		w.ok(cluster.Create(w.Context(), object))
		w.Cleanup(func() {
			if err := cluster.Delete(context.Background(), object); err != nil && !apierrors.IsNotFound(err) {
				w.Error(err)
			}
		})
	}
}
