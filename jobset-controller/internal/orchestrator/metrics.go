package orchestrator

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/holdfast-project/holdfast/shared/bootstrap/meter"
	"github.com/holdfast-project/holdfast/shared/coordination/leader"
	"github.com/holdfast-project/holdfast/shared/history"
	"github.com/holdfast-project/holdfast/shared/series"
)

// Metrics holds the metrics of the orchestrator. No label names an object.
type Metrics struct {
	counters       map[string]*prometheus.CounterVec // the counters that plans increment, by name
	restartSeconds *prometheus.HistogramVec

	fencingRejections prometheus.Counter
	storeErrors       prometheus.Counter
	leading           prometheus.Gauge
}

var planned = []series.Metric{
	series.Restarts, series.LostWorkerSeconds, series.Evictions, series.Escalations, series.Rounds, series.Timeouts, series.EarlyFailures,
	series.FormingTimeouts, series.Replacements, series.SparesUsed, series.ForcedDeletions,
}

var buckets = []float64{0.001, 0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 1.5, 2, 3, 5, 10, 30, 60, 120, 300, 1200}

func NewMetrics(registerer prometheus.Registerer) *Metrics {
	m := &Metrics{
		counters: map[string]*prometheus.CounterVec{}, restartSeconds: meter.HistogramVec(series.RestartDuration, buckets),
		fencingRejections: meter.Counter(series.FencingRejections), storeErrors: meter.Counter(series.StoreErrors), leading: meter.Gauge(series.Leading),
	}
	registerer.MustRegister(m.restartSeconds, m.fencingRejections, m.storeErrors, m.leading)
	for _, metric := range planned {
		m.counters[metric.Name] = meter.CounterVec(metric)
		registerer.MustRegister(m.counters[metric.Name])
		if len(metric.Labels) == 0 {
			meter.Zero(m.counters[metric.Name], nil)
		}
	}
	// Initialize the series whose labels are known in advance.
	meter.Zero(m.counters[series.Escalations.Name], []string{leader.ScopePod}, []string{leader.ScopeJob}, []string{leader.ScopeGroup})
	for cause := range leader.Causes {
		meter.Zero(m.counters[series.Restarts.Name], []string{history.InPlace, cause, "true"})
		meter.Zero(m.counters[series.LostWorkerSeconds.Name], []string{cause})
	}
	for _, end := range []history.End{history.Running, history.Overtaken, history.Abandoned} {
		meter.Zero(m.counters[series.Rounds.Name], []string{leader.Outcome(end)})
	}
	for _, phase := range history.Phases {
		meter.Zero(m.restartSeconds, []string{history.InPlace, phase.String()})
	}
	return m
}

func (m *Metrics) count(counts []leader.Count) {
	for _, c := range counts {
		if c.Metric.Name == series.RestartDuration.Name {
			m.restartSeconds.WithLabelValues(c.Labels...).Observe(c.By)
		} else {
			m.counters[c.Metric.Name].WithLabelValues(c.Labels...).Add(c.By)
		}
	}
}
