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
	meter.Counters
	restartSeconds *prometheus.HistogramVec
	leading        prometheus.Gauge
}

var buckets = []float64{0.001, 0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 1.5, 2, 3, 5, 10, 30, 60, 120, 300, 1200}

func NewMetrics(registerer prometheus.Registerer) *Metrics {
	m := &Metrics{
		meter.NewCounters(registerer,
			series.Restarts, series.LostWorkerSeconds, series.Evictions, series.Escalations, series.Rounds, series.Timeouts, series.EarlyFailures,
			series.Replacements, series.SparesUsed, series.ForcedDeletions, series.FencingRejections, series.StoreErrors),
		meter.HistogramVec(series.RestartDuration, buckets), meter.Gauge(series.Leading),
	}
	registerer.MustRegister(m.restartSeconds, m.leading)
	// Initialize the series whose labels are known in advance.
	m.Zero(series.Escalations, leader.ScopePod, leader.ScopeJob, leader.ScopeGroup)
	for cause := range leader.Causes {
		m.Zero(series.Restarts, history.InPlace, cause, "true")
		m.Zero(series.LostWorkerSeconds, cause)
	}
	for _, end := range []history.End{history.Running, history.Overtaken, history.Abandoned} {
		m.Zero(series.Rounds, leader.Outcome(end))
	}
	for _, phase := range history.Phases {
		m.restartSeconds.WithLabelValues(history.InPlace, phase.String())
	}
	return m
}

func (m *Metrics) count(counts []leader.Count) {
	for _, c := range counts {
		if c.Metric.Name == series.RestartDuration.Name {
			m.restartSeconds.WithLabelValues(c.Labels...).Observe(c.By)
		} else {
			m.Add(c.Metric, c.By, c.Labels...)
		}
	}
}
