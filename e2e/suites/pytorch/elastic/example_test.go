//go:build e2e

package elastic

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/holdfast-project/holdfast/e2e/framework/torch"
	"github.com/holdfast-project/holdfast/elastic-operator/api/v1alpha1"
)

// TestTheExampleTrains runs examples/elastic/queued.yaml to completion with three workers and this host's image, and
// loses one worker during the run. It leaves out the queue, because suites/elastic tests Kueue.
func TestTheExampleTrains(test *testing.T) {
	t := newTraining(test, torch.Torch26)
	ctx := t.Context()
	t.claim()
	if err := shared.Apply(ctx, t.namespace, shared.File("examples", "pytorch", "train.yaml")); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(shared.File("examples", "elastic", "queued.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	job := &v1alpha1.ElasticJob{}
	if err := yaml.UnmarshalStrict(content, job); err != nil {
		t.Fatal(err)
	}
	job.Namespace, job.Labels = t.namespace, nil
	job.Spec.ReplicaSpecs.Worker.Replicas = ptr.To[int32](3)
	t.version.Substitute(&job.Spec.ReplicaSpecs.Worker.Template.Spec)
	if err := k8s.Create(ctx, job); err != nil {
		t.Fatal(err)
	}
	t.job = job
	t.await("there are checkpoints", func(context.Context) error {
		if found, err := filepath.Glob(filepath.Join(t.state, "step-*", ".metadata")); len(found) < 2 {
			return fmt.Errorf("there are %d (%v)", len(found), err)
		}
		return nil
	})
	t.killContainer(job.Name+"-worker-1", "worker")
	t.succeeds()
	if status, err := t.now(ctx); err != nil || status.Status.Restarts == 0 {
		t.Errorf("no failure was counted: %v", err)
	}
}

// claim provides the storage that the example claims: the training's folder.
func (t *training) claim() {
	t.Helper()
	volume := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: t.namespace}, Spec: corev1.PersistentVolumeSpec{
		Capacity: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("10Gi")}, AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany},
		PersistentVolumeSource: corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: t.state}},
	}}
	if err := k8s.Create(t.Context(), volume); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = k8s.Delete(context.Background(), volume) })
}
