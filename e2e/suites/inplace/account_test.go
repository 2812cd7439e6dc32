//go:build e2e

package inplace

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/holdfast-project/holdfast/e2e/framework"
	"github.com/holdfast-project/holdfast/e2e/framework/recovery"
	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/history"
)

// A process that is stopped by a signal is as silent as one that hangs in a collective.
func TestAWorkerThatHangsIsKilledAndTheGroupRestarts(t *testing.T) {
	hangs := []string{`kind="in-place"`, `reason="hang"`, `counted="true"`}
	const silence = 6 * time.Second // longer than a busy machine delays a worker's step of one second
	g, before := startSupervised(t, func(js *v1alpha2.JobSet) { js.Annotations[v1alpha2.ProgressTimeoutKey] = silence.String() })
	counted := g.metric("holdfast_restarts_total", hangs...)
	victim := worker(before, 2)
	g.must(framework.Until(g.ctx, "the worker has completed its first step, which starts the progress timeout", func(ctx context.Context) error {
		return g.LogHas(ctx, victim, "step ")
	}))
	stopped := time.Now()
	g.signal(victim, unix.SIGSTOP)
	g.awaitPhase(coordination.Running, 1, 1)
	e := g.awaitEvent("InPlaceRestart")
	found := time.Since(stopped)
	want := fmt.Sprintf("worker %s (pod %s on node %s) made no progress for %s and was killed; restarting all %d workers in place (restart 1 of 20)",
		victim.ID, victim.Pod, g.Cluster.NodeNames()[0], silence, size)
	if e.Note != want {
		t.Errorf("the event says %q, want %q", e.Note, want)
	}
	entry := g.account(1, 1)
	g.Logf("the record: %+v", entry)
	cause := history.Cause{Kind: "hang", ExitCode: 137, Signal: "SIGKILL", Reason: silence.String()}
	if entry.Cause != cause || entry.Worker != strings.TrimPrefix(victim.ID, "js-") || entry.Node != g.Cluster.NodeNames()[0] ||
		victim.Pod != victim.ID+"-"+entry.Pod {
		t.Errorf("the record is %+v, want the hang of %s in pod %s", entry, victim.ID, victim.Pod)
	}
	// The record starts with the last sign of progress. That came up to a step before the worker was stopped, or
	// earlier on a busy machine.
	if detect := entry.Took[history.Detect].Duration(); detect < silence || detect > found+silence {
		t.Errorf("the hang was detected after %s, want at least %s, and about the %s that the test measured", detect, silence, found)
	}
	g.awaitEvent("InPlaceRestarted")
	if got := g.metric("holdfast_restarts_total", hangs...) - counted; got != 1 {
		t.Errorf("holdfast_restarts_total grew by %v, want 1", got)
	}
	g.expectColumns(map[string]string{"In-Place": "1", "Training": "True", "State": "InSync"})
}

func (g *group) account(epoch, round int64) history.Entry {
	g.Helper()
	e, err := g.AwaitEntry(g.ctx, g.js, history.Attempt{Epoch: epoch, Round: round})
	g.must(err)
	return e
}

func (g *group) metric(name string, labels ...string) float64 {
	g.Helper()
	v, err := g.Metric(g.ctx, name, labels...)
	g.must(err)
	return v
}

// expectColumns polls what kubectl get prints until it is as expected. The status lags behind the events.
func (g *group) expectColumns(want map[string]string) {
	g.Helper()
	g.must(framework.Until(g.ctx, "kubectl get shows the expected columns", func(ctx context.Context) error {
		got, err := g.columns(ctx)
		for name, value := range want {
			if cell, there := got[name]; err == nil && (!there || cell != value) {
				err = fmt.Errorf("column %s is %q, want %q (found: %v)", name, cell, value, there)
			}
		}
		return err
	}))
}

// columns returns the cells in the JobSet's row by column name.
func (g *group) columns(ctx context.Context) (map[string]string, error) {
	table := &metav1.Table{}
	err := g.Kube.Discovery().RESTClient().Get().
		AbsPath("/apis/jobset.x-k8s.io/v1alpha2/namespaces", g.js.Namespace, "jobsets", g.js.Name).
		SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").Do(ctx).Into(table)
	if err != nil {
		return nil, fmt.Errorf("reading the row: %w", err)
	}
	cells := map[string]string{}
	for i, column := range table.ColumnDefinitions {
		cells[column.Name] = fmt.Sprint(table.Rows[0].Cells[i])
	}
	return cells, nil
}

// The phases add up to the outage that the test measures, from the kill to the last worker's first output. The workers
// take two seconds to stop. The tolerance is a twentieth of that, because no agent observes how long a program takes to
// print its first line. A stalled machine can make any single measurement too long. Therefore two of a few failures must
// agree with the record. None would agree if the record left out a phase.
func TestThePhasesAddUpToTheOutage(t *testing.T) {
	for name, answer := range map[string]recovery.Mode{"exec": stubborn(recovery.Exec, graceOfSupervisor), "cri": stubborn(recovery.CRI, graceOfSidecar)} {
		t.Run(name, func(t *testing.T) {
			namespace, begun := "e2e-phases-"+name, time.Now()
			if err := shared.Namespace(t.Context(), namespace); err != nil {
				t.Fatal(err)
			}
			tr, err := recovery.Start(t.Context(), shared, namespace, answer, size)
			if err != nil {
				t.Fatal(err)
			}
			defer tr.End(t.Context())
			// A program does not ignore signals before it has started.
			if _, err := shared.StartsAfter(t.Context(), namespace, tr.JobSet.Name, size, begun); err != nil {
				t.Fatal(err)
			}
			agreed := 0
			for try := 0; agreed < 2 && try < mostTries; try++ {
				if addsUp(t, tr) {
					agreed++
				}
			}
			if agreed < 2 {
				t.Errorf("of %d records, only %d match the outage", mostTries, agreed)
			}
		})
	}
}

// mostTries is less than the number of restarts that the example allows.
const mostTries = 8

// stubborn makes the workers ignore SIGTERM, so that they are killed after two seconds.
func stubborn(a recovery.Mode, grace func(*corev1.PodSpec)) recovery.Mode {
	a.Change = func(js *v1alpha2.JobSet) {
		js.Annotations[v1alpha2.InPlaceTimeoutKey] = timeout
		pod := &js.Spec.ReplicatedJobs[0].Template.Spec.Template.Spec
		pod.TerminationGracePeriodSeconds = ptr.To[int64](2)
		pod.Containers[0].Env = append(pod.Containers[0].Env, corev1.EnvVar{Name: "WORKER_ON_TERM", Value: "ignore"})
		grace(pod)
	}
	return a
}

func graceOfSupervisor(pod *corev1.PodSpec) {
	pod.Containers[0].Env = append(pod.Containers[0].Env, corev1.EnvVar{Name: "WORKER_TERMINATION_GRACE_PERIOD", Value: "2s"})
}

// graceOfSidecar sets the sidecar's grace period. If a flag is given twice, the last one counts.
func graceOfSidecar(pod *corev1.PodSpec) {
	pod.InitContainers[0].Args = append(pod.InitContainers[0].Args, "--worker-termination-grace-period=2s")
}

// addsUp makes a worker fail, and reports whether the record of the restart is as long as the outage.
func addsUp(t *testing.T, tr *recovery.Workload) bool {
	t.Helper()
	f, err := tr.Fail(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	e, err := shared.AwaitEntry(t.Context(), tr.JobSet, history.Attempt{Epoch: f.Account.Generation, Round: f.Account.Round})
	if err != nil {
		t.Fatal(err)
	}
	off := time.Duration(math.Abs(float64(e.Lost() - f.Outage())))
	t.Logf("outage %s, record %+v, difference %s (%.1f %%)", f.Outage(), e, off, 100*off.Seconds()/f.Outage().Seconds())
	if f.Outage() < 2*time.Second {
		t.Errorf("the outage was %s, and the workers take 2 s to stop", f.Outage())
	}
	return off <= f.Outage()/20
}
