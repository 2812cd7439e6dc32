//go:build e2e

package inplace

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/ptr"

	"github.com/holdfast-project/holdfast/e2e/framework"
	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/shared/coordination"
)

// staged is the number of workers in the example that take part in restarts: one driver, and two Jobs of two.
const staged = 5

// The example with one annotation and an ordered start. A stage that has completed before the driver does not run
// again. The driver and the workers restart together. A completed worker runs again while others need it. The JobSet
// ends when the driver does.
func TestAnOrderedStartRestartsInPlace(t *testing.T) {
	g := startStages(t)
	g.awaitStages(0)

	at := g.strike("workers-1-0", unix.SIGKILL)
	g.awaitStarts(at)
	g.awaitStages(1)
	g.awaitCharged(1)

	finished := g.strike("workers-0-0", unix.SIGUSR2)
	g.awaitDone(1)
	at = g.strike("driver-0-0", unix.SIGKILL)
	g.awaitStarts(at)
	g.awaitStages(2)
	g.awaitCharged(2)
	t.Logf("the worker that finished %s before the failure runs again", at.Sub(finished).Round(time.Millisecond))

	if n := g.fetches(); n != 1 {
		t.Errorf("%d pods have fetched, want 1", n)
	}
	g.strike("driver-0-0", unix.SIGUSR2)
	g.must(framework.Until(g.ctx, "the JobSet is complete", func(ctx context.Context) error {
		js, err := g.JobSet(ctx, g.js.Namespace, g.js.Name)
		if err == nil && !meta.IsStatusConditionTrue(js.Status.Conditions, string(v1alpha2.JobSetCompleted)) {
			err = errors.New("it is not complete")
		}
		return err
	}))
	g.awaitCharged(2)
}

func startStages(t *testing.T) *group {
	t.Helper()
	g := &group{T: t, Environment: shared, ctx: t.Context()}
	const namespace = "e2e-stages"
	g.must(g.Namespace(g.ctx, namespace))
	js, err := g.Load(namespace, g.File("examples", "one-annotation-stages.yaml"))
	g.must(err)
	js.Name = "js"
	js.Annotations[v1alpha2.InPlaceTimeoutKey] = timeout
	for i := range js.Spec.ReplicatedJobs {
		job := &js.Spec.ReplicatedJobs[i].Template.Spec
		job.Parallelism, job.Completions = ptr.To(min(2, *job.Parallelism)), ptr.To(min(2, *job.Completions))
		job.Template.Spec.Containers[0].Name = "worker" // the framework reads the container of this name
	}
	g.must(g.Remove(g.ctx, namespace, js.Name))
	g.must(g.Client.Create(g.ctx, js))
	g.js = js
	t.Cleanup(g.cleanUp)
	return g
}

// awaitStages returns once the driver and the workers are in sync at a total restart count.
func (g *group) awaitStages(round int64) {
	g.Helper()
	g.awaitSummary(fmt.Sprintf("%d workers are in sync at %d", staged, round), func(s framework.Summary) bool {
		return s.Phase == coordination.Running && s.Round == round && s.Size == staged && s.Joined == staged
	})
	g.must(framework.Until(g.ctx, "all of them run", func(ctx context.Context) error {
		workers, err := g.Workers(ctx, g.js.Namespace, g.js.Name)
		running := 0
		for _, w := range workers {
			if _, err := g.Program(ctx, w); err == nil && w.Ready {
				running++
			}
		}
		if err == nil && running != staged {
			err = fmt.Errorf("%d are running", running)
		}
		return err
	}))
}

func (g *group) awaitDone(n int64) {
	g.Helper()
	g.awaitSummary(fmt.Sprintf("%d have finished", n), func(s framework.Summary) bool {
		return s.Phase == coordination.Running && s.Done == n
	})
}

func (g *group) awaitSummary(what string, is func(framework.Summary) bool) {
	g.Helper()
	g.must(framework.Until(g.ctx, what, func(ctx context.Context) error {
		s, err := g.Summary(ctx, string(g.js.UID))
		if err == nil && !is(s) {
			err = fmt.Errorf("it is %s, %d of %d joined, %d finished", s.Level, s.Joined, s.Size, s.Done)
		}
		return err
	}))
}

// awaitStarts returns once the driver and the workers have started again since the given time.
func (g *group) awaitStarts(since time.Time) {
	g.Helper()
	_, err := g.StartsAfter(g.ctx, g.js.Namespace, g.js.Name, staged, since)
	g.must(err)
}

// strike sends a signal to the worker whose ID ends with id.
func (g *group) strike(id string, s unix.Signal) time.Time {
	g.Helper()
	workers, err := g.Workers(g.ctx, g.js.Namespace, g.js.Name)
	g.must(err)
	at, err := g.Signal(g.ctx, workers[g.js.Name+"-"+id], s)
	g.must(err)
	return at
}

// fetches returns the number of pods of the stage without an agent.
func (g *group) fetches() int {
	g.Helper()
	pods, err := g.Pods(g.ctx, g.js.Namespace, g.js.Name)
	g.must(err)
	n := 0
	for _, pod := range pods {
		if strings.HasSuffix(pod.Labels[v1alpha2.ReplicatedJobNameKey], "fetch") && pod.Status.Phase == corev1.PodSucceeded {
			n++
		}
	}
	return n
}
