package elasticjob

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/holdfast-project/holdfast/elastic-operator/api/v1alpha1"
	"github.com/holdfast-project/holdfast/elastic-operator/internal/policy"
	"github.com/holdfast-project/holdfast/shared/bootstrap/meter"
	"github.com/holdfast-project/holdfast/shared/series"
)

// Metrics contains the metrics of the controller.
type Metrics struct{ meter.Counters }

// NewMetrics creates and registers the metrics.
func NewMetrics(registerer prometheus.Registerer) *Metrics {
	m := &Metrics{meter.NewCounters(registerer, series.ElasticPodsCreated, series.WorkersEnded, series.ElasticFinished, series.WorkersAbandoned)}
	m.Zero(series.WorkersEnded, string(policy.CauseProgram), string(policy.CauseDisruption))
	m.Zero(series.ElasticFinished, string(v1alpha1.JobSucceeded), string(v1alpha1.JobFailed))
	return m
}

// count updates the metrics for a decision that was written to the status.
func (m *Metrics) count(s *scope, d *policy.Decision) {
	for _, cause := range d.Faults {
		m.Inc(series.WorkersEnded, string(cause))
	}
	for _, e := range d.Events {
		if e.Reason == policy.EventAbandoned {
			m.Inc(series.WorkersAbandoned)
		}
	}
	if s.facts.Memory.Ended == "" && d.Memory.Ended != "" {
		m.Inc(series.ElasticFinished, string(d.Memory.Ended))
	}
}
