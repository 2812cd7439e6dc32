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

// A Job without a JobSet restarts in place after a process is killed, even without an orchestrator, and after a pod is deleted. It fails
// on the fourth failure.
func TestIndexedJob(t *testing.T) {
	g, workers := startJob(t, "indexed", 3, "10m")
	g.kill(first(workers))
	g.awaitCharged(1)
	g.replaceOrchestrator(first(workers))
	g.awaitCharged(2)
	g.samePods(workers)
	lost := first(workers)
	g.lose(lost)
	g.awaitCharged(3)
	g.samePods(workers, lost.ID)
	g.untilEvent("InPlaceRestart")
	g.timeline("restart in place", "1 of 3", "2 of 3", "3 of 3")
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

// A pod that cannot be scheduled keeps the group from restarting in time, so the Job controller recreates all pods.
func TestIndexedJobTimeout(t *testing.T) {
	g, workers := startJob(t, "indexed-timeout", 20, "6s")
	g.timeOutJobs(workers)
}

// job returns an Indexed Job with the example's workers.
func (g *group) job(backoffLimit int32, timeout string) *batchv1.Job {
	g.Helper()
	js, err := g.Load(jobs, g.File("examples", "one-annotation.yaml"))
	g.must(err)
	pods := js.Spec.ReplicatedJobs[0].Template.Spec.Template
	pods.Spec.TerminationGracePeriodSeconds = ptr.To[int64](1)
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Namespace: jobs, Name: g.name, Annotations: map[string]string{v1alpha2.InPlaceTimeoutKey: timeout}},
		Spec: batchv1.JobSpec{
			CompletionMode: ptr.To(batchv1.IndexedCompletion), Completions: ptr.To[int32](size), Parallelism: ptr.To[int32](size),
			BackoffLimit: ptr.To(backoffLimit), Template: pods,
		},
	}
}

// awaitWebhook waits until the API server reaches the webhook. Before that, groups are created without agents. This
// takes a moment after the orchestrator has been replaced.
func (g *group) awaitWebhook() {
	g.Helper()
	g.must(framework.Until(g.ctx, "the webhook prepares Jobs", func(ctx context.Context) error {
		job := g.job(1, "10m")
		job.Name += "-probe" // the group's own Job may exist
		err := g.Client.Create(ctx, job, client.DryRunAll)
		if err == nil && job.Annotations[v1alpha2.LedByKey] == "" {
			err = fmt.Errorf("a Job was created without agents")
		}
		return err
	}))
}

// startJob creates an Indexed Job with the example's workers, and returns the workers once they are in sync.
func startJob(t *testing.T, name string, backoffLimit int32, timeout string) (*group, map[string]framework.Worker) {
	t.Helper()
	g := newGroup(t, batchv1.SchemeGroupVersion.WithKind("Job"), name, size)
	g.awaitWebhook()
	job := g.job(backoffLimit, timeout)
	g.must(g.Client.Create(g.ctx, job))
	g.Cleanup(func() {
		g.tell()
		if err := g.Client.Delete(context.Background(), job, client.PropagationPolicy(metav1.DeletePropagationForeground)); err != nil {
			g.Error(err)
		}
		g.untilGone(job)
	})
	return g, g.running()
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
