package orchestrator

import (
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/shared/coordination"
)

// meter reads how much a metric has grown since it was made.
type meter struct {
	*testing.T
	read  func() float64
	start float64
}

func newMeter(t *testing.T, read func() float64) *meter { return &meter{t, read, read()} }

func (m *meter) want(n float64) {
	m.Helper()
	if got := m.read() - m.start; got != n {
		m.Errorf("grew by %v, want %v", got, n)
	}
}

// metric reads a metric of the registry: a value, or how many observations there are. label is the value of its only label.
func metric(t *testing.T, name, label string) func() float64 {
	return func() float64 {
		families, err := metrics.Registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, family := range families {
			if family.GetName() != name {
				continue
			}
			for _, m := range family.GetMetric() {
				if len(m.GetLabel()) > 0 && m.GetLabel()[0].GetValue() != label {
					continue
				}
				return m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
			}
		}
		return 0
	}
}

func observations(t *testing.T, phase string) func() float64 {
	return metric(t, "holdfast_inplace_restart_duration_seconds", phase)
}

func ended(t *testing.T, outcome string) func() float64 {
	return metric(t, "holdfast_inplace_rounds_total", outcome)
}

func TestEachRestartIsObservedOnce(t *testing.T) {
	g := formed(t)
	inSync, total, detect := newMeter(t, ended(t, "in_sync")), newMeter(t, observations(t, "total")), newMeter(t, observations(t, "detect"))
	g.fail("js-w-0-1", 1, 1)
	g.pass(time.Second)
	g.join(1, 2)
	g.pass(time.Second)
	g.reconcile()
	inSync.want(1)
	total.want(1)
	detect.want(0) // the agent gave no times
	g.r = g.leader(2)
	g.reconcile()
	inSync.want(1)
}

func TestARestartThatEndsWhileNobodyLeadsIsObserved(t *testing.T) {
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

func TestARestartThatChangesLeadersIsObservedOnce(t *testing.T) {
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

func TestARoundThatIsGivenUpIsObservedAsSuch(t *testing.T) {
	g := formed(t)
	givenUp, late := newMeter(t, ended(t, "given_up")), newMeter(t, metric(t, "holdfast_inplace_timeouts_total", ""))
	total := newMeter(t, observations(t, "total"))
	g.fail("js-w-0-1", 1, 1)
	g.reconcile()
	g.pass(61 * time.Second)
	g.reconcile()
	givenUp.want(1)
	late.want(1)
	total.want(0)
}

func TestGroupsAreCountedByPhase(t *testing.T) {
	in := func(p coordination.Phase) func() float64 {
		return metric(t, "holdfast_inplace_groups", string(p))
	}
	running, restarting := newMeter(t, in(coordination.Running)), newMeter(t, in(coordination.Restarting))
	g := formed(t)
	running.want(1)
	g.fail("js-w-0-1", 1, 1)
	g.reconcile()
	running.want(0)
	restarting.want(1)
	g.change(func(js *v1alpha2.JobSet) { delete(js.Annotations, v1alpha2.InPlaceTimeoutKey) })
	g.reconcile()
	restarting.want(0)
	g = formed(t)
	running.want(1)
	g.must(g.c.Delete(g.ctx, g.jobSet()))
	g.reconcile()
	running.want(0)
}

func TestStoreErrorsAreCounted(t *testing.T) {
	failures := newMeter(t, metric(t, "holdfast_orchestrator_store_errors_total", ""))
	g := formed(t)
	g.store.SetReachable(false)
	g.reconcile()
	failures.want(1)
}
