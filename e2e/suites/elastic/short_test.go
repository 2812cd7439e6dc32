//go:build e2e

package elastic

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/holdfast-project/holdfast/elastic-operator/api/v1alpha1"
)

// Workers of one job are killed and deleted. The job is scaled up and down as an autoscaler would, suspended and
// resumed.
func TestAJobSurvivesFailuresScalingAndSuspension(t *testing.T) {
	b := newBench(t)
	b.create(b.job("train", 2, 3, 4))
	b.await("train", v1alpha1.StateRunning, 3)

	failing := b.worker("train", 1)
	b.replaced("train", 1, failing, b.kill(failing, unix.SIGKILL))
	b.awaitCounted("train", 1, 0)
	b.await("train", v1alpha1.StateRunning, 3)

	deleted := b.worker("train", 2)
	begin := time.Now()
	b.OK(k8s.Delete(t.Context(), deleted))
	b.replaced("train", 2, deleted, begin)
	b.awaitCounted("train", 1, 1)
	job := b.await("train", v1alpha1.StateRunning, 3)

	b.Until("the scale subresource shows the workers", func(ctx context.Context) error {
		scale := &autoscalingv1.Scale{}
		err := k8s.SubResource("scale").Get(ctx, job, scale)
		if err == nil && (scale.Status.Replicas != 3 || scale.Status.Selector == "") {
			err = fmt.Errorf("it shows %+v", scale.Status)
		}
		return err
	})
	stays := b.worker("train", 0).UID
	b.scale("train", 4)
	b.await("train", v1alpha1.StateRunning, 4)
	b.scale("train", 2)
	b.await("train", v1alpha1.StateRunning, 2)
	if b.worker("train", 0).UID != stays {
		t.Error("scaling has replaced a worker that should stay")
	}

	b.change("train", func(s *v1alpha1.ElasticJobSpec) { s.Suspend = true })
	b.await("train", v1alpha1.StateSuspended, 0)
	b.awaitNoPods()
	b.change("train", func(s *v1alpha1.ElasticJobSpec) { s.Suspend = false })
	job = b.await("train", v1alpha1.StateRunning, 2)
	if job.Status.Disruptions != 1 {
		t.Errorf("a suspension is counted: %+v", job.Status)
	}

	b.OK(k8s.Delete(t.Context(), job, client.PropagationPolicy(metav1.DeletePropagationBackground)))
	b.awaitNoPods()
}

// The HorizontalPodAutoscaler of the examples scales a job. Without its metric, it enforces its own minimum.
func TestAnAutoscalerScalesAJob(t *testing.T) {
	b := newBench(t)
	b.create(b.job("train", 1, 2, 4))
	b.await("train", v1alpha1.StateRunning, 2)
	text, err := os.ReadFile("../../../examples/elastic/autoscaler.yaml")
	b.OK(err)
	autoscaler := &autoscalingv2.HorizontalPodAutoscaler{}
	b.OK(yaml.UnmarshalStrict(text, autoscaler))
	autoscaler.Namespace, autoscaler.Spec.MinReplicas = b.job("train", 1, 2, 4).Namespace, ptr.To[int32](3)
	b.OK(k8s.Create(t.Context(), autoscaler))
	b.await("train", v1alpha1.StateRunning, 3)
}

func TestAJobSucceedsAndItsPodsAreKept(t *testing.T) {
	b := newBench(t)
	b.create(b.job("short", 1, 2, 2, endsAfter(2)))
	job := b.await("short", v1alpha1.StateSucceeded, 0)
	if job.Status.ReplicaStatuses.Worker.Succeeded != 2 || len(b.pods()) != 2 {
		t.Errorf("%+v, %d pods", job.Status.ReplicaStatuses.Worker, len(b.pods()))
	}
}

// The job fails only when it falls below its minimum.
func TestAJobFailsBelowItsMinimum(t *testing.T) {
	b := newBench(t)
	b.create(b.job("few", 2, 3, 3, func(j *v1alpha1.ElasticJob) {
		j.Spec.BackoffLimit = ptr.To(int32(0))
		j.Spec.ElasticPolicy = &v1alpha1.ElasticPolicy{SettleSeconds: ptr.To(int32(2))}
	}))
	b.await("few", v1alpha1.StateRunning, 3)
	b.kill(b.worker("few", 0), unix.SIGUSR1)
	b.await("few", v1alpha1.StateRunning, 2)
	b.kill(b.worker("few", 1), unix.SIGUSR1)
	job := b.await("few", v1alpha1.StateFailed, 1)
	for _, c := range job.Status.Conditions {
		if c.Type == v1alpha1.JobFailed && c.Message != "ElasticJob few is failed because 2 workers replica(s) failed." {
			t.Error(c.Message)
		}
	}
}
