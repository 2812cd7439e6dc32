package rescheduling

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/holdfast-project/holdfast/rescheduler/api/memory"
	"github.com/holdfast-project/holdfast/rescheduler/internal/settings"
	"github.com/holdfast-project/holdfast/rescheduler/internal/signals"
	"github.com/holdfast-project/holdfast/rescheduler/internal/testing/pods"
	"github.com/holdfast-project/holdfast/shared/series"
)

// closed reports that the circuit breaker is closed.
func closed() float64 { return 0 }

// counted returns the decisions for which a configuration creates counters at startup, as "reason signal".
func counted(t *testing.T, config settings.Rescheduling) (all []string) {
	t.Helper()
	registry := prometheus.NewRegistry()
	newMetrics(registry, config, closed)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			if family.GetName() != series.Decisions.Name {
				continue
			}
			if m.GetCounter().GetValue() != 0 {
				t.Errorf("%v is not 0", m.GetLabel())
			}
			all = append(all, m.GetLabel()[0].GetValue()+" "+m.GetLabel()[1].GetValue())
		}
	}
	return all
}

func TestDecisionCountersStartAtZero(t *testing.T) {
	off, always := signals.Off, signals.Always
	changed := settings.Default()
	changed.DryRun = true
	changed.Signals = map[string]settings.Signal{"OOMKilled": {Trigger: &off}, "DeviceUnhealthy": {Trigger: &always}}
	for name, c := range map[string]struct {
		config    settings.Rescheduling
		with, not []string
	}{
		"default": {
			settings.Default(),
			[]string{"Rescheduled OOMKilled", "BlockedByDisruptionBudget OOMKilled", "NotTheNodesFault ConfigError", "NotMovable NodeFeature", "ExclusionsLifted "},
			[]string{"Rescheduled ConfigError", "BlockedByDisruptionBudget FailsInPlace", "Rescheduled DeviceUnhealthy", "NotLongEnough OOMKilled"},
		},
		"configured": {
			changed,
			[]string{"WouldReschedule DeviceUnhealthy", "ExclusionsLifted "},
			[]string{"NotMovable OOMKilled"},
		},
	} {
		all := counted(t, c.config)
		for _, series := range c.with {
			if !slices.Contains(all, series) {
				t.Errorf("%s: no %q among %q", name, series, all)
			}
		}
		for _, series := range c.not {
			if slices.Contains(all, series) {
				t.Errorf("%s: unexpected series %q", name, series)
			}
		}
		if len(all) > 250 {
			t.Errorf("%s: %d series", name, len(all))
		}
		t.Log(name, len(all))
	}
}

// gathered returns the value of a gauge, or the count and sum of a histogram.
func gathered(t *testing.T, metric prometheus.Collector) (value float64, count uint64, sum float64) {
	t.Helper()
	registry := prometheus.NewRegistry()
	registry.MustRegister(metric)
	families, err := registry.Gather()
	if err != nil || len(families) != 1 {
		t.Fatal(families, err)
	}
	m := families[0].GetMetric()[0]
	return m.GetGauge().GetValue(), m.GetHistogram().GetSampleCount(), m.GetHistogram().GetSampleSum()
}

// The breaker closes automatically, and the gauge shows this even if no pod is moved.
func TestGaugeShowsThatBreakerCloses(t *testing.T) {
	config := settings.Default()
	config.Breaker.Moves = 1
	w := newWorld(t, config, interceptor.Funcs{})
	of := workload("w")
	for range 2 {
		w.take(w.of(pods.Make("p", noon).On("a").Change(owned(of)).Obj(), of).budgetKeys("a"))
	}
	if open, _, _ := gathered(t, w.metrics.open); open != 1 {
		t.Fatalf("after two moves with a limit of one, the gauge is %v", open)
	}
	w.Reconciler.Clock.(*testclock.FakePassiveClock).SetTime(noon.Add(config.Breaker.Pause.Duration))
	if open, _, _ := gathered(t, w.metrics.open); open != 0 {
		t.Errorf("after the pause, the gauge is %v", open)
	}
}

func TestReplacementsAreObservedOnce(t *testing.T) {
	minutes := func(n float64) time.Time { return noon.Add(time.Duration(n * float64(time.Minute))) }
	for name, c := range map[string]struct {
		made, bound, now time.Time
		hosts            string
		want             float64 // seconds since the failure on node a, at noon; negative if nothing is observed
	}{
		"bound immediately":                                 {minutes(0.1), minutes(0.1), minutes(0.1), `["a"]`, 6},
		"without a node for ten minutes":                    {minutes(0.1), minutes(10), minutes(10.1), `["a"]`, 600},
		"created late by a Job with back-off":               {minutes(6), minutes(7), minutes(7), `["a"]`, 420},
		"created and bound before the failure was recorded": {minutes(-0.05), minutes(-0.02), minutes(0), `["a"]`, 0},
		"observed by a manager that started later":          {minutes(0.1), minutes(0.2), minutes(1.5), `["a"]`, -1},
		"sibling created before the failure":                {minutes(-5), minutes(-5), minutes(0.1), `["a"]`, -1},
		"older pod that was pending until now":              {minutes(-5), minutes(0.1), minutes(0.1), `["a"]`, -1},
		"workload scaled up an hour later":                  {minutes(60), minutes(60.1), minutes(60.1), `["a"]`, -1},
		"without exclusions":                                {minutes(0.1), minutes(0.2), minutes(0.2), ``, -1},
		"with an exclusion of a node without failures":      {minutes(0.1), minutes(0.2), minutes(0.2), `["c"]`, -1},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMetrics(prometheus.NewRegistry(), settings.Default(), closed)
			pod := pods.Make("p", c.made).On("b").Condition(corev1.PodScheduled, corev1.ConditionTrue, "", c.bound).Change(func(p *corev1.Pod) {
				p.Annotations = map[string]string{memory.HostsAnnotation: c.hosts}
			}).Obj()
			remembered := memory.Memory{Entries: []memory.Entry{
				{Node: "a", First: noon.Add(-time.Hour), Last: noon}, {Node: "b", Last: noon.Add(time.Minute)}, {Node: "z", Last: noon.Add(-time.Minute)},
			}}
			for range 3 {
				m.bound(&scope{pod: pod, memory: remembered, now: c.now})
			}
			_, count, sum := gathered(t, m.replacements)
			if c.want < 0 && count != 0 || c.want >= 0 && (count != 1 || math.Abs(sum-c.want) > 0.001) {
				t.Errorf("observed %d times, %v s; want %v s", count, sum, c.want)
			}
		})
	}
}
