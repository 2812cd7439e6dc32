//go:build e2e

package beside

import (
	"context"
	"fmt"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"golang.org/x/sys/unix"

	"github.com/holdfast-project/holdfast/e2e/framework"
	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
)

// A Job without a JobSet survives a killed process and a deleted pod, and fails on the third failure.
func TestIndexedJob(t *testing.T) {
	g := newGroup(t, batchv1.SchemeGroupVersion.WithKind("Job"), "indexed", size)
	workers := g.startJob(2)
	g.kill(first(workers))
	g.awaitCharged(1)
	g.samePods(workers)
	lost := first(workers)
	g.lose(lost)
	g.awaitCharged(2)
	g.samePods(workers, lost.ID)
	g.untilEvent("InPlaceRestart")
	g.timeline("restart in place", "1 of 2", "2 of 2")
	last, err := g.AwaitWorkers(g.ctx, jobs, g.name, size)
	g.must(err)
	_, err = g.Signal(g.ctx, first(last), unix.SIGKILL)
	g.must(err)
	g.awaitJob("the Job has failed", func(job *batchv1.Job) error {
		for _, c := range job.Status.Conditions {
			if c.Type == batchv1.JobFailed && c.Reason == v1alpha2.ReachedMaxRestartsReason {
				return nil
			}
		}
		return fmt.Errorf("conditions %+v", job.Status.Conditions)
	})
}

// job returns an Indexed Job with the workers of the example.
func (g *group) job(backoffLimit int32) *batchv1.Job {
	g.Helper()
	js, err := g.Load(jobs, g.File("examples", "one-annotation.yaml"))
	g.must(err)
	pods := js.Spec.ReplicatedJobs[0].Template.Spec.Template
	pods.Spec.TerminationGracePeriodSeconds = ptr.To[int64](1)
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Namespace: jobs, Name: g.name, Annotations: map[string]string{v1alpha2.InPlaceTimeoutKey: "10m"}},
		Spec: batchv1.JobSpec{
			CompletionMode: ptr.To(batchv1.IndexedCompletion), Completions: ptr.To[int32](size), Parallelism: ptr.To[int32](size),
			BackoffLimit: ptr.To(backoffLimit), Template: pods,
		},
	}
}

// awaitWebhook waits until the API server reaches the webhook. Before that, groups are created without agents. It takes
// a moment after the orchestrator has been replaced.
func (g *group) awaitWebhook() {
	g.Helper()
	g.must(framework.Until(g.ctx, "the webhook prepares Jobs", func(ctx context.Context) error {
		job := g.job(1)
		err := g.Client.Create(ctx, job, client.DryRunAll)
		if err == nil && job.Annotations[v1alpha2.LedByKey] == "" {
			err = fmt.Errorf("a Job was created without agents")
		}
		return err
	}))
}

// startJob creates an Indexed Job with the workers of the example, and returns them once they are in sync.
func (g *group) startJob(backoffLimit int32) map[string]framework.Worker {
	g.Helper()
	job := g.job(backoffLimit)
	g.must(g.Client.Create(g.ctx, job))
	g.Cleanup(func() {
		g.tell()
		if err := g.Client.Delete(context.Background(), job, client.PropagationPolicy(metav1.DeletePropagationForeground)); err != nil {
			g.Error(err)
		}
	})
	return g.running()
}

func (g *group) awaitJob(what string, check func(*batchv1.Job) error) {
	g.Helper()
	g.must(framework.UntilEvery(g.ctx, what, 200*time.Millisecond, framework.Patience, func(ctx context.Context) error {
		job := &batchv1.Job{}
		if err := g.Client.Get(ctx, client.ObjectKey{Namespace: jobs, Name: g.name}, job); err != nil {
			return err
		}
		return check(job)
	}))
}
