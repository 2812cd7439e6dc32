package main

import (
	"context"
	"fmt"
	"os"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/e2e/fakes/pods"
	"github.com/holdfast-project/holdfast/e2e/framework"
	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
)

const (
	entry = "workers"
	// patience limits the wait for a controller.
	patience = 10 * time.Minute
	interval = 200 * time.Millisecond
)

// grow creates JobSets with their pods until there are `to` pods, and returns once the status of each JobSet shows them.
func (b *benchmark) grow(ctx context.Context, from, to int) error {
	if err := pods.CreateNodes(ctx, b.env.Client, to); err != nil {
		return err
	}
	for n := from; n < to; n += b.workers() {
		if err := b.runJobSet(ctx, n); err != nil {
			return fmt.Errorf("JobSet %s: %w", nameOf(n), err)
		}
		fmt.Fprintf(os.Stderr, "%d pods are running\n", n+b.workers())
	}
	for n := from; n < to; n += b.workers() {
		if err := b.awaitReady(ctx, nameOf(n)); err != nil {
			return err
		}
	}
	return nil
}

// nameOf returns a JobSet's name. number is the position of its first pod among all pods.
func nameOf(number int) string { return fmt.Sprintf("train-%06d", number) }

// runJobSet creates a JobSet, creates its pods once the manager has created the Jobs, and joins its group.
func (b *benchmark) runJobSet(ctx context.Context, number int) error {
	js := b.jobSet(nameOf(number))
	if err := until(ctx, "the JobSet is created", func(ctx context.Context) error { return b.env.Client.Create(ctx, js) }); err != nil {
		return err
	}
	running := make([]*corev1.Pod, b.workers())
	for i := range b.jobs {
		if err := b.runJob(ctx, js, i, number, running[i*b.pods:(i+1)*b.pods]); err != nil {
			return err
		}
	}
	return b.join(ctx, js, running)
}

// runJob creates running pods for the Job with the given index, and sets the Job's status.
func (b *benchmark) runJob(ctx context.Context, js *v1alpha2.JobSet, index, number int, running []*corev1.Pod) error {
	job := &batchv1.Job{}
	key := client.ObjectKey{Namespace: namespace, Name: fmt.Sprintf("%s-%s-%d", js.Name, entry, index)}
	if err := until(ctx, "the Job exists", func(ctx context.Context) error { return b.env.Client.Get(ctx, key, job) }); err != nil {
		return err
	}
	err := framework.Each(b.pods, func(i int) (err error) {
		running[i], err = pods.Run(ctx, b.env.Client, job, i, number+index*b.pods+i)
		return err
	})
	if err != nil {
		return err
	}
	before := job.DeepCopy()
	job.Status.StartTime, job.Status.Active, job.Status.Ready = ptr.To(metav1.Now()), int32(b.pods), ptr.To(int32(b.pods))
	return b.env.Client.Status().Patch(ctx, job, client.MergeFrom(before))
}

// join joins all workers to their group, as their agents would, and returns once the group is running.
func (b *benchmark) join(ctx context.Context, js *v1alpha2.JobSet, running []*corev1.Pod) error {
	var o rounds.Observation
	err := until(ctx, "the store has the group", func(ctx context.Context) (err error) {
		o = b.env.Store.Observe(ctx, string(js.UID), rounds.Slot{Name: fmt.Sprintf("%s-%s-0-0", js.Name, entry)})
		return o.Err
	})
	if err != nil {
		return err
	}
	level := o.Level
	for first := 0; first < len(running); first += rounds.MaxBatch {
		var joining []rounds.Member
		for i := first; i < min(first+rounds.MaxBatch, len(running)); i++ {
			slot := rounds.Slot{Name: fmt.Sprintf("%s-%s-%d-%d", js.Name, entry, i/b.pods, i%b.pods), Pod: string(running[i].UID)}
			joining = append(joining, rounds.Member{Slot: slot, ID: slot.Name + "/1", Attempt: 1, Past: rounds.Past{Kind: rounds.PastNew}})
		}
		call := rounds.Join(level.Incarnation, 0, level.Round, level.Entered, joining...)
		if _, _, err := b.env.Store.JoinAll(ctx, string(js.UID), call, len(joining)); err != nil {
			return fmt.Errorf("joining: %w", err)
		}
	}
	_, err = b.env.AwaitPhase(ctx, js, coordination.Running, 1, 0)
	return err
}

func (b *benchmark) awaitReady(ctx context.Context, name string) error {
	return until(ctx, "the JobSet is ready", func(ctx context.Context) error {
		js, err := b.env.JobSet(ctx, namespace, name)
		if err != nil {
			return err
		}
		for _, s := range js.Status.ReplicatedJobsStatus {
			if int(s.Ready) == b.jobs {
				return nil
			}
		}
		return fmt.Errorf("the Jobs of %s are not ready", name)
	})
}

func until(ctx context.Context, what string, ask func(context.Context) error) error {
	return framework.UntilEvery(ctx, what, interval, patience, ask)
}

// jobSet returns a JobSet whose pod objects are as large as a typical training job's.
func (b *benchmark) jobSet(name string) *v1alpha2.JobSet {
	resources := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("8"), corev1.ResourceMemory: resource.MustParse("64Gi"), "example.com/gpu": resource.MustParse("8"),
	}
	spec := batchv1.JobSpec{
		Parallelism: ptr.To(int32(b.pods)), Completions: ptr.To(int32(b.pods)), CompletionMode: ptr.To(batchv1.IndexedCompletion),
		Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
			Containers: []corev1.Container{{
				Name: "worker", Image: "registry.example/team/trainer:v1.2.3", Command: []string{"python", "-m", "train"},
				Env:          []corev1.EnvVar{{Name: "NCCL_DEBUG", Value: "INFO"}, {Name: "DATA", Value: "/data/train"}},
				Resources:    corev1.ResourceRequirements{Requests: resources, Limits: resources},
				VolumeMounts: []corev1.VolumeMount{{Name: "data", MountPath: "/data"}},
			}},
			Volumes: []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}},
		}},
	}
	return &v1alpha2.JobSet{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace, Annotations: map[string]string{
			v1alpha2.InPlaceTimeoutKey: "5m", v1alpha2.InPlaceDriverKey: "exec",
		}},
		Spec: v1alpha2.JobSetSpec{
			FailurePolicy:  &v1alpha2.FailurePolicy{MaxRestarts: 10},
			ReplicatedJobs: []v1alpha2.ReplicatedJob{{Name: entry, Replicas: int32(b.jobs), Template: batchv1.JobTemplateSpec{Spec: spec}}},
		},
	}
}
