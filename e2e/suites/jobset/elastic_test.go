//go:build e2e

package jobset

import (
	"context"
	"fmt"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/e2e/framework"
	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
)

// A running JobSet is scaled up and then down. It keeps its Job and the pods that are not removed.
func TestScalingARunningJobSet(t *testing.T) {
	r := start(t, "stages-scale-up.yaml", func(js *v1alpha2.JobSet) {
		js.Name, js.Spec.StartupPolicy = "elastic", nil
		js.Spec.ReplicatedJobs = js.Spec.ReplicatedJobs[:1]
		js.Spec.ReplicatedJobs[0].Template.Spec.Template.Spec.TerminationGracePeriodSeconds = ptr.To[int64](1)
		container(js, 0).Env = []corev1.EnvVar{{Name: "STEP_AWAITS", Value: "/never"}}
	})
	one := r.awaitsPods("0")
	job := r.job("small").UID
	r.resize(3)
	three := r.awaitsPods("0", "1", "2")
	r.resize(2)
	two := r.awaitsPods("0", "1")
	if three["0"] != one["0"] || two["0"] != one["0"] || two["1"] != three["1"] {
		t.Errorf("pods that should stay were replaced: %v, %v, %v", one, three, two)
	}
	if now := r.job("small").UID; now != job {
		t.Error("the Job was replaced")
	}
	r.must(framework.Until(r.ctx, "the status of the JobSet shows that it is ready", func(ctx context.Context) error {
		js, err := r.JobSet(ctx, namespace, r.name)
		if err == nil && js.Status.ReplicatedJobsStatus[0].Ready != 1 {
			err = fmt.Errorf("it is %+v", js.Status.ReplicatedJobsStatus)
		}
		return err
	}))
}

// resize sets the number of pods of the first replicatedJob.
func (r *run) resize(pods int32) {
	r.Helper()
	js, err := r.JobSet(r.ctx, namespace, r.name)
	r.must(err)
	resized := js.DeepCopy()
	spec := &resized.Spec.ReplicatedJobs[0].Template.Spec
	spec.Parallelism, spec.Completions = &pods, &pods
	r.must(r.Client.Patch(r.ctx, resized, client.MergeFrom(js)))
}

// awaitsPods waits until exactly the pods with these completion indexes run, and returns their UIDs.
func (r *run) awaitsPods(indexes ...string) map[string]types.UID {
	r.Helper()
	var running map[string]types.UID
	r.must(framework.Until(r.ctx, fmt.Sprintf("pods %v run", indexes), func(ctx context.Context) error {
		pods, err := r.Pods(ctx, namespace, r.name)
		if err != nil {
			return err
		}
		running = map[string]types.UID{}
		for _, pod := range pods {
			if pod.Status.Phase == corev1.PodRunning && pod.DeletionTimestamp.IsZero() {
				running[pod.Annotations[batchv1.JobCompletionIndexAnnotation]] = pod.UID
			}
		}
		for _, index := range indexes {
			if running[index] == "" {
				return fmt.Errorf("%s does not run: %v", index, running)
			}
		}
		if len(running) != len(indexes) {
			return fmt.Errorf("running are %v", running)
		}
		return nil
	}))
	return running
}
