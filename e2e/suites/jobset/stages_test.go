//go:build e2e

package jobset

import (
	"context"
	"fmt"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/e2e/framework"
	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
)

// run is one JobSet of a test.
type run struct {
	*testing.T
	*framework.Environment
	ctx  context.Context
	name string
}

// start creates an example, changed if change is not nil, and removes it at the end of the test.
func start(t *testing.T, example string, change func(*v1alpha2.JobSet)) *run {
	t.Helper()
	r := &run{T: t, Environment: shared, ctx: t.Context()}
	js, err := r.Load(namespace, r.File("examples", example))
	r.must(err)
	if change != nil {
		change(js)
	}
	r.name = js.Name
	r.must(r.Client.Create(r.ctx, js))
	t.Cleanup(func() {
		if err := r.Remove(context.Background(), namespace, r.name); err != nil {
			t.Error(err)
		}
	})
	return r
}

func (r *run) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

// awaits waits for a condition of the JobSet.
func (r *run) awaits(kind v1alpha2.JobSetConditionType) *v1alpha2.JobSet {
	r.Helper()
	var js *v1alpha2.JobSet
	r.must(framework.Until(r.ctx, fmt.Sprintf("%s is %s", r.name, kind), func(ctx context.Context) (err error) {
		js, err = r.JobSet(ctx, namespace, r.name)
		if err == nil && !meta.IsStatusConditionTrue(js.Status.Conditions, string(kind)) {
			err = fmt.Errorf("conditions: %+v", js.Status.Conditions)
		}
		return err
	}))
	return js
}

func (r *run) job(entry string) *batchv1.Job {
	r.Helper()
	var job batchv1.Job
	r.must(r.Client.Get(r.ctx, client.ObjectKey{Namespace: namespace, Name: r.name + "-" + entry + "-0"}, &job))
	return &job
}

// span is the period in which the containers of a replicatedJob's pods ran.
type span struct{ first, last time.Time }

func (r *run) span(entry string) span {
	r.Helper()
	pods, err := r.Pods(r.ctx, namespace, r.name)
	r.must(err)
	var s span
	for i := range pods {
		if pods[i].Labels[v1alpha2.ReplicatedJobNameKey] != entry {
			continue
		}
		for _, c := range pods[i].Status.ContainerStatuses {
			began, ended := ran(c.State)
			if s.first.IsZero() || began.Before(s.first) {
				s.first = began
			}
			if ended.After(s.last) {
				s.last = ended
			}
		}
	}
	return s
}

func ran(s corev1.ContainerState) (began, ended time.Time) {
	if s.Terminated == nil {
		return time.Time{}, time.Time{}
	}
	return s.Terminated.StartedAt.Time, s.Terminated.FinishedAt.Time
}

// Story 1: the stage that needs GPUs starts once the initializer has succeeded. Its program fails unless it finds the
// fetched data.
func TestFineTuning(t *testing.T) {
	r := start(t, "stages-fine-tune.yaml", nil)
	js := r.awaits(v1alpha2.JobSetCompleted)
	if fetch, train := r.span("initializer"), r.span("trainer-node"); train.first.Before(fetch.last) {
		t.Errorf("trained from %s, fetched until %s", train.first, fetch.last)
	}
	if job := r.job("trainer-node"); job.Status.Failed != 0 || job.Status.Succeeded != 3 {
		t.Errorf("%d nodes have failed and %d succeeded", job.Status.Failed, job.Status.Succeeded)
	}
	if js.Status.Restarts != 0 {
		t.Errorf("%d restarts", js.Status.Restarts)
	}
}

// Story 2: fetch, launcher, nodes. The launcher keeps running while the nodes start, and each side reaches the other by
// its host name.
func TestDeepSpeedByMPI(t *testing.T) {
	r := start(t, "stages-deepspeed-mpi.yaml", nil)
	r.awaits(v1alpha2.JobSetCompleted)
	fetch, launch, train := r.span("initializer"), r.span("launcher"), r.span("trainer-node")
	if launch.first.Before(fetch.last) || train.first.Before(launch.first) {
		t.Errorf("fetched until %s, launched from %s, trained from %s", fetch.last, launch.first, train.first)
	}
	if launch.last.Before(train.first) {
		t.Errorf("the launcher ended at %s, before the nodes that it resolves began at %s", launch.last, train.first)
	}
}

// Story 3: the large run follows the small one, unless the small one fails.
func TestScalingUp(t *testing.T) {
	t.Run("after a success", func(t *testing.T) {
		r := start(t, "stages-scale-up.yaml", nil)
		r.awaits(v1alpha2.JobSetCompleted)
		if large := r.job("large"); large.Status.Succeeded != 4 {
			t.Errorf("%d of 4 have succeeded", large.Status.Succeeded)
		}
	})
	t.Run("not after a failure", func(t *testing.T) {
		r := start(t, "stages-scale-up.yaml", func(js *v1alpha2.JobSet) {
			container(js, 0).Env = []corev1.EnvVar{{Name: "STEP_NEEDS", Value: "/nothing"}}
		})
		r.awaits(v1alpha2.JobSetFailed)
		var jobs batchv1.JobList
		r.must(r.Client.List(r.ctx, &jobs, client.InNamespace(namespace), client.MatchingLabels{v1alpha2.JobSetNameKey: r.name}))
		if len(jobs.Items) != 1 {
			t.Errorf("%d Jobs, want only the small run's", len(jobs.Items))
		}
	})
}

func container(js *v1alpha2.JobSet, entry int) *corev1.Container {
	return &js.Spec.ReplicatedJobs[entry].Template.Spec.Template.Spec.Containers[0]
}

// Only the failed Job is recreated, in its stage, while the others keep running.
func TestARestartOfOneJob(t *testing.T) {
	r := start(t, "stages-scale-up.yaml", func(js *v1alpha2.JobSet) {
		js.Name = "one-job"
		js.Spec.FailurePolicy = &v1alpha2.FailurePolicy{MaxRestarts: 1, Rules: []v1alpha2.FailurePolicyRule{{Name: "alone", Action: v1alpha2.RestartJob}}}
		large := &js.Spec.ReplicatedJobs[1]
		large.Replicas = 2
		one := int32(1)
		large.Template.Spec.Parallelism, large.Template.Spec.Completions = &one, &one
		pod := &large.Template.Spec.Template.Spec
		pod.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "dataset-initializer"}}}}
		c := container(js, 1)
		c.VolumeMounts = []corev1.VolumeMount{{Name: "data", MountPath: "/data"}}
		c.Env = []corev1.EnvVar{{Name: "STEP_FAIL_ONCE", Value: "/data/failed"}}
	})
	js := r.awaits(v1alpha2.JobSetCompleted)
	var restarts, counted int32
	for _, s := range js.Status.ReplicatedJobsStatus {
		for i := range s.JobRestarts {
			restarts, counted = restarts+s.JobRestarts[i], counted+s.JobRestartsCountTowardsMax[i]
		}
	}
	if js.Status.Restarts != 0 || restarts != 1 || counted != 1 {
		t.Errorf("%d restarts of all, %d of single Jobs, %d of them counted", js.Status.Restarts, restarts, counted)
	}
	if small := r.job("small"); small.Labels[v1alpha2.JobRestartsKey] != "0" {
		t.Errorf("the first stage was run again: %v", small.Labels)
	}
}
