//go:build e2e

package inplace

import (
	"context"
	"fmt"
	"strconv"
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

func TestAFailedWorkerRestartsAllInPlace(t *testing.T) {
	g, before := startInSync(t, nil)
	g.signal(worker(before, 1), unix.SIGUSR1)
	g.awaitPhase(coordination.Running, 1, 1)
	g.awaitRestarted(before, 1)
	g.awaitCharged(1)
	e := g.awaitEvent("InPlaceRestart")
	if want := fmt.Sprintf("worker %s exited with code 1; restarting all %d workers in place (restart 1 of 20)",
		worker(before, 1).ID, size); e.Note != want {
		t.Errorf("the event says %q, want %q", e.Note, want)
	}
	g.awaitEvent("InPlaceRestarted")
}

// The second worker is stopped before the first one dies. However long it takes until the second is killed, it still
// belongs to the round in which the first one died, not to the next.
func TestTwoSimultaneousFailuresCauseOneRestart(t *testing.T) {
	g, before := startInSync(t, func(js *v1alpha2.JobSet) { waitForTheStopped(&js.Spec.ReplicatedJobs[0].Template.Spec.Template.Spec) })
	g.signal(worker(before, 3), unix.SIGSTOP)
	g.signal(worker(before, 0), unix.SIGUSR1)
	_, err := g.Signal(g.ctx, worker(before, 3), unix.SIGKILL)
	g.must(err)
	g.awaitPhase(coordination.Running, 1, 1)
	after := g.awaitRestarted(before, 1)
	g.awaitCharged(1)
	g.stay(after, 3*time.Second)
	g.awaitPhase(coordination.Running, 1, 1)
}

func TestConsecutiveRestartsAreEachChargedOnce(t *testing.T) {
	g, workers := startInSync(t, nil)
	for round := range 3 {
		g.signal(worker(workers, round), unix.SIGKILL)
		g.awaitPhase(coordination.Running, 1, int64(round)+1)
		workers = g.awaitRestarted(workers, 1)
		g.awaitCharged(round + 1)
	}
}

func TestWithoutRestartsLeftTheJobSetFailsAndNoWorkerIsStopped(t *testing.T) {
	g, workers := startInSync(t, func(js *v1alpha2.JobSet) { js.Spec.FailurePolicy.MaxRestarts = 1 })
	g.signal(worker(workers, 2), unix.SIGUSR1)
	g.awaitPhase(coordination.Running, 1, 1)
	workers = g.awaitRestarted(workers, 1)
	g.signal(worker(workers, 2), unix.SIGUSR1)
	g.awaitCharged(2)
	g.must(framework.Until(g.ctx, "the JobSet has failed", func(ctx context.Context) error {
		js, err := g.JobSet(ctx, g.js.Namespace, g.js.Name)
		if err != nil {
			return err
		}
		c := meta.FindStatusCondition(js.Status.Conditions, string(v1alpha2.JobSetFailed))
		if c == nil || c.Reason != v1alpha2.ReachedMaxRestartsReason {
			return fmt.Errorf("condition Failed is %+v", c)
		}
		return nil
	}))
	g.awaitEvent("InPlaceRestartsOver")
}

// A worker that ignores SIGTERM for longer than the timeout cannot restart in time.
func TestARestartThatTimesOutBecomesAFullRecreation(t *testing.T) {
	g, before := startInSync(t, func(js *v1alpha2.JobSet) {
		js.Annotations[v1alpha2.InPlaceTimeoutKey] = "4s"
		pod := &js.Spec.ReplicatedJobs[0].Template.Spec.Template.Spec
		pod.TerminationGracePeriodSeconds = ptr.To[int64](1)
		pod.Containers[0].Env = append(pod.Containers[0].Env, corev1.EnvVar{Name: "WORKER_ON_TERM", Value: "ignore"})
		replaceArg(pod.InitContainers[0].Args, "--worker-termination-grace-period=", "60s")
	})
	g.signal(worker(before, 0), unix.SIGUSR1)
	g.awaitPhase(coordination.Running, 2, 0)
	after := g.awaitWorkers()
	for id, was := range before {
		if after[id].PodUID == was.PodUID {
			t.Errorf("worker %s is still in its old pod", id)
		}
	}
	g.awaitCharged(2) // the restart, and the recreation after it
	g.awaitEvent("InPlaceFailOver")
	g.signal(worker(after, 1), unix.SIGUSR1)
	g.awaitChargedBeyond(2) // this restart times out like the first one
}

// awaitChargedBeyond returns once more than n restarts are charged.
func (g *group) awaitChargedBeyond(n int) {
	g.Helper()
	g.must(framework.Until(g.ctx, fmt.Sprintf("more than %d restarts are charged", n), func(ctx context.Context) error {
		js, err := g.JobSet(ctx, g.js.Namespace, g.js.Name)
		if err != nil {
			return err
		}
		charged, err := strconv.Atoi(js.Annotations[v1alpha2.InPlaceRestartsKey])
		if err == nil && charged <= n {
			err = fmt.Errorf("%d are charged", charged)
		}
		return err
	}))
}

func TestASuspensionIsNotAFailureAndResumingStartsFromZero(t *testing.T) {
	g, _ := startInSync(t, nil)
	g.setSuspend(true)
	g.must(framework.Until(g.ctx, "all pods are gone", func(ctx context.Context) error {
		pods, err := g.Pods(ctx, g.js.Namespace, g.js.Name)
		if err == nil && len(pods) > 0 {
			err = fmt.Errorf("%d pods are left", len(pods))
		}
		return err
	}))
	g.awaitPhase(coordination.Closed, 2, 0)
	g.setSuspend(false)
	workers := g.awaitWorkers()
	g.awaitPhase(coordination.Running, 2, 0)
	g.awaitCharged(0)
	g.signal(worker(workers, 0), unix.SIGUSR1)
	g.awaitPhase(coordination.Running, 2, 1)
	g.awaitRestarted(workers, 1)
	g.awaitCharged(1)
}

func (g *group) setSuspend(suspend bool) {
	g.Helper()
	g.must(framework.Until(g.ctx, "spec.suspend is updated", func(ctx context.Context) error {
		js, err := g.JobSet(ctx, g.js.Namespace, g.js.Name)
		if err != nil {
			return err
		}
		js.Spec.Suspend = &suspend
		return g.Client.Update(ctx, js)
	}))
}

// waitForTheStopped keeps agents from killing a worker that ignores SIGTERM before the test does.
func waitForTheStopped(pod *corev1.PodSpec) {
	replaceArg(pod.InitContainers[0].Args, "--worker-termination-grace-period=", "2m")
}

func replaceArg(args []string, prefix, value string) {
	for i, arg := range args {
		if len(arg) >= len(prefix) && arg[:len(prefix)] == prefix {
			args[i] = prefix + value
		}
	}
}
