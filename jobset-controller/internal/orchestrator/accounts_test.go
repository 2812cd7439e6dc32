package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
	"github.com/holdfast-project/holdfast/shared/history"
)

// reading measures how much a metric has increased since the reading was taken.
type reading struct {
	*testing.T
	read  func() float64
	start float64
}

func newMeter(t *testing.T, read func() float64) *reading { return &reading{t, read, read()} }

func (m *reading) want(n float64) {
	m.Helper()
	if got := m.read() - m.start; got != n {
		m.Errorf("grew by %v, want %v", got, n)
	}
}

// metric returns a function that reads a metric of the registry: its value, or the number of its observations. labels
// are the metric's label values, ordered by label name. Without labels, any series matches.
func metric(t *testing.T, name string, labels ...string) func() float64 {
	return metricOf(t, registry, name, labels...)
}

// metric returns a function that reads a metric about the groups that this process leads.
func (g *rig) metric(name string, labels ...string) func() float64 {
	registry := prometheus.NewRegistry()
	registry.MustRegister(g.r.Groups)
	return metricOf(g.T, registry, name, labels...)
}

func metricOf(t *testing.T, from prometheus.Gatherer, name string, labels ...string) func() float64 {
	return func() float64 {
		families, err := from.Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, family := range families {
			if family.GetName() != name {
				continue
			}
			for _, m := range family.GetMetric() {
				if len(labels) > 0 && !slices.Equal(labels, valuesOf(m)) {
					continue
				}
				return m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
			}
		}
		return 0
	}
}

func valuesOf(m *dto.Metric) []string {
	var values []string
	for _, label := range m.GetLabel() {
		values = append(values, label.GetValue())
	}
	return values
}

func observations(t *testing.T, phase string) func() float64 {
	return metric(t, "holdfast_restart_duration_seconds", "in-place", phase)
}

func counted(t *testing.T, kind, reason string) func() float64 {
	return metric(t, "holdfast_restarts_total", "true", kind, reason)
}

func ended(t *testing.T, outcome string) func() float64 {
	return metric(t, "holdfast_inplace_rounds_total", outcome)
}

func TestEachRestartIsObservedOnce(t *testing.T) {
	g := formed(t)
	inSync, start, detect := newMeter(t, ended(t, "in_sync")), newMeter(t, observations(t, "start")), newMeter(t, observations(t, "detect"))
	byExit := newMeter(t, counted(t, "in-place", "exit"))
	g.fail("js-w-0-1", 1, 1)
	g.pass(time.Second)
	g.join(1, 2)
	g.pass(time.Second)
	g.reconcile()
	inSync.want(1)
	start.want(1)
	detect.want(1)
	byExit.want(1)
	g.r = g.leader(2)
	g.reconcile()
	inSync.want(1)
	byExit.want(1)
}

// Another program has updated the JobSet since the leader read it.
func TestRestartIsObservedAfterAConflict(t *testing.T) {
	g := formed(t)
	byExit := newMeter(t, counted(t, "in-place", "exit"))
	conflicts := 0
	g.r.Client = g.through(interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, obj client.Object, p client.Patch, o ...client.PatchOption) error {
			if diff, err := p.Data(obj); err == nil && strings.Contains(string(diff), history.Annotation) && conflicts == 0 {
				conflicts++
				return apierrors.NewConflict(v1alpha2.Resource("jobsets"), obj.GetName(), errors.New("changed"))
			}
			return c.Patch(ctx, obj, p, o...)
		},
	})
	g.fail("js-w-0-1", 1, 1)
	g.reconcile()
	g.join(1, 2)
	g.reconcile()
	g.reconcile()
	if conflicts != 1 {
		t.Fatal("nothing conflicted")
	}
	byExit.want(1)
}

func TestStoreClockAheadDoesNotDelayAccounting(t *testing.T) {
	g := formed(t)
	g.r.Clock = clocktesting.NewFakePassiveClock(g.clock.Now().Add(-time.Minute))
	g.fail("js-w-0-1", 1, 1)
	g.reconcile()
	g.join(1, 2)
	g.reconcile()
	g.wantEvents("restarting all 2 workers in place", "all 2 workers are running again")
}

func TestRestartThatEndsWithoutALeaderIsObserved(t *testing.T) {
	g := formed(t)
	inSync := newMeter(t, ended(t, "in_sync"))
	g.fail("js-w-0-1", 1, 1)
	g.clock.SetTime(g.clock.Now().Add(time.Second))
	g.join(1, 2)
	g.r = g.leader(2)
	g.reconcile()
	inSync.want(1)
	g.r = g.leader(3)
	g.reconcile()
	inSync.want(1)
}

func TestRestartAcrossLeadersIsObservedOnce(t *testing.T) {
	g := formed(t)
	inSync := newMeter(t, ended(t, "in_sync"))
	g.fail("js-w-0-1", 1, 1)
	g.pass(time.Second)
	g.clock.SetTime(g.clock.Now().Add(2 * time.Second))
	g.join(1, 2)
	g.r = g.leader(2)
	g.reconcile()
	inSync.want(1)
}

func TestAbandonedRestartIsObserved(t *testing.T) {
	g := formed(t)
	abandoned, late := newMeter(t, ended(t, "abandoned")), newMeter(t, metric(t, "holdfast_inplace_timeouts_total"))
	g.fail("js-w-0-1", 1, 1)
	g.reconcile()
	g.pass(61 * time.Second)
	g.reconcile()
	abandoned.want(1)
	late.want(1)
}

func TestGroupsAreCountedByPhase(t *testing.T) {
	g := formed(t)
	in := func(p coordination.Phase) *reading {
		return &reading{T: t, read: g.metric("holdfast_inplace_groups", string(p))}
	}
	running, restarting := in(coordination.Running), in(coordination.Restarting)
	running.want(1)
	g.fail("js-w-0-1", 1, 1)
	g.reconcile()
	running.want(0)
	restarting.want(1)
	g.change(func(js *v1alpha2.JobSet) { delete(js.Annotations, v1alpha2.InPlaceTimeoutKey) })
	g.reconcile()
	restarting.want(0)
	g = formed(t)
	running = in(coordination.Running)
	running.want(1)
	g.must(g.c.Delete(g.ctx, g.jobSet()))
	g.reconcile()
	running.want(0)
}

func TestStoreErrorsAreCounted(t *testing.T) {
	failures := newMeter(t, metric(t, "holdfast_store_errors_total"))
	g := formed(t)
	g.store.SetReachable(false)
	g.reconcile()
	failures.want(1)
}

func (g *rig) history() []history.Entry {
	g.Helper()
	list, err := history.Parse(g.jobSet().Annotations[history.Annotation])
	if err != nil {
		g.Fatal(err)
	}
	return list
}

func TestHistoryNamesWorkerPodNodeAndExit(t *testing.T) {
	g := formed(t)
	g.clock.SetTime(g.clock.Now().Add(time.Second))
	failed := g.clock.Now().Add(-3 * time.Millisecond).UnixMilli()
	g.down(slotOf("js-w-0-1", 1), 1, 1, false, coordination.Failure{
		Cause: coordination.Cause{
			Kind: coordination.KindExit, ExitCode: 137, Signal: 9, Reason: "OOMKilled",
			Place: coordination.Place{PodName: "js-w-0-1-abcde", Node: "n1"},
		},
		FailedAt: failed, DetectedAt: failed + 1,
	})
	g.pass(time.Second)
	g.join(1, 2)
	g.pass(time.Second)
	want := "1.1 00:16:40.997 in-place: exited with code 137 (SIGKILL, OOMKilled) w-0-1/abcde@n1 [1 2 0 1000] counted=true"
	if list := g.history(); len(list) != 1 || line(list[0]) != want {
		t.Errorf("the history is %v, want %q", list, want)
	}
	g.wantEvents("worker js-w-0-1 (pod js-w-0-1-abcde on node n1) exited with code 137 (SIGKILL, OOMKilled); restarting all 2 workers",
		"all 2 workers are running again, 1.003s after exit of worker w-0-1 on node n1 (detect 1ms, order 2ms, down 0s, start 1s)")
}

func TestHistoryFindsTheNodeOfAWorker(t *testing.T) {
	g := formed(t)
	pod := g.makePod(0, 1, func(p *corev1.Pod) { p.Spec.NodeName = "n7" })
	g.fail("js-w-0-1", 1, 1)
	g.join(1, 2)
	g.reconcile()
	list := g.history()
	if len(list) != 1 || list[0].Node != "n7" || !strings.HasSuffix(pod.Name, list[0].Pod) {
		t.Errorf("the history is %v, want pod %s on n7", list, pod.Name)
	}
}

func TestHistoryHasEachRestartOnceAcrossLeaders(t *testing.T) {
	g := formed(t)
	byExit := newMeter(t, counted(t, "in-place", "exit"))
	lost := newMeter(t, metric(t, "holdfast_lost_worker_seconds_total", "exit"))
	for life := range int64(2) {
		g.fail("js-w-0-1", 1, life+1)
		g.clock.SetTime(g.clock.Now().Add(3 * time.Second))
		g.join(1, life+2)
		for leader := range int64(3) {
			g.r = g.leader(2 + life*3 + leader)
			g.reconcile()
		}
	}
	if list := g.history(); len(list) != 2 || list[0].Round != 1 || list[1].Round != 2 {
		t.Errorf("the history is %v", list)
	}
	byExit.want(2)
	lost.want(2 * 2 * 3)
}

func TestHistoryHasRecreations(t *testing.T) {
	g := formed(t)
	byTimeout := newMeter(t, counted(t, "recreation", "timeout"))
	g.fail("js-w-0-1", 1, 1)
	g.reconcile()
	g.pass(61 * time.Second)
	g.reconcile()
	g.wantPhase(coordination.Forming, 2, 0)
	g.clock.SetTime(g.clock.Now().Add(4 * time.Second))
	g.join(2, 1)
	g.pass(time.Second)
	var got []string
	for _, e := range g.history() {
		got = append(got, line(e))
	}
	want := []string{
		"1.1 00:16:40.000 in-place: exited with code 1 w-0-1/@ [0 0 0 61000] abandoned counted=true",
		"2.0 00:17:41.000 recreation: the previous restart timed out /@ [0 0 0 4000] counted=true",
	}
	if !slices.Equal(got, want) {
		t.Errorf("the history is\n%q, want\n%q", got, want)
	}
	byTimeout.want(1)
}

func TestLastRestartIsAccountedForAtTheEnd(t *testing.T) {
	g := formed(t)
	abandoned := newMeter(t, ended(t, "abandoned"))
	g.fail("js-w-0-1", 1, 1)
	g.reconcile()
	g.change(func(js *v1alpha2.JobSet) { js.Status.TerminalState = "Failed" })
	js := g.jobSet()
	js.Status.TerminalState = "Failed"
	g.must(g.c.Status().Update(g.ctx, js))
	g.reconcile()
	abandoned.want(1)
	if list := g.history(); len(list) != 1 || list[0].Ended != history.Abandoned {
		t.Errorf("the history is %v", list)
	}
}

func TestWorkerSecondsAddUp(t *testing.T) {
	g := formed(t)
	missing, seconds := newMeter(t, g.metric("holdfast_workers_out_of_sync")), newMeter(t, g.metric("holdfast_running_worker_seconds_total"))
	g.clock.SetTime(g.clock.Now().Add(10 * time.Second))
	g.fail("js-w-0-1", 1, 1)
	g.reconcile()
	missing.want(2)
	g.clock.SetTime(g.clock.Now().Add(5 * time.Second))
	g.join(1, 2)
	g.reconcile()
	missing.want(0)
	g.clock.SetTime(g.clock.Now().Add(time.Second))
	seconds.want(2 * 11)
}

func TestFencingRejectionsAreCounted(t *testing.T) {
	g := formed(t)
	refused := newMeter(t, metric(t, "holdfast_fencing_rejections_total"))
	g.r.Store = &stale{g.store}
	if _, err := g.r.Reconcile(g.ctx, ctrl.Request{NamespacedName: types.NamespacedName{Namespace: "ns", Name: "js"}}); err == nil {
		t.Error("no error")
	}
	refused.want(1)
}

// stale is a store that rejects the leader.
type stale struct{ rounds.Leader }

func (stale) Read(context.Context, string) (*rounds.Stored, error) {
	return nil, coordination.ErrStaleLeader
}

// line formats the fields of an entry on one line.
func line(e history.Entry) string {
	text := fmt.Sprintf("%d.%d %s %s: %s %s/%s@%s %v %s counted=%t", e.Epoch, e.Round, e.FailedAt.Format("15:04:05.000"), e.Kind, e.Cause,
		e.Worker, e.Pod, e.Node, e.Took, e.Ended, e.Counted)
	return strings.Join(strings.Fields(text), " ")
}
