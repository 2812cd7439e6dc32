package elasticjob

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/holdfast-project/holdfast/elastic-operator/api/v1alpha1"
	"github.com/holdfast-project/holdfast/elastic-operator/internal/policy"
	"github.com/holdfast-project/holdfast/shared/bootstrap/meter"
	"github.com/holdfast-project/holdfast/shared/series"
)

// Metrics contains the metrics of the controller.
type Metrics struct {
	created   prometheus.Counter
	ended     *prometheus.CounterVec
	finished  *prometheus.CounterVec
	abandoned prometheus.Counter
}

// NewMetrics creates and registers the metrics.
func NewMetrics(registerer prometheus.Registerer) *Metrics {
	m := &Metrics{
		created:   meter.Counter(series.ElasticPodsCreated),
		ended:     meter.CounterVec(series.WorkersEnded),
		finished:  meter.CounterVec(series.ElasticFinished),
		abandoned: meter.Counter(series.WorkersAbandoned),
	}
	registerer.MustRegister(m.created, m.ended, m.finished, m.abandoned)
	meter.Zero(m.ended, []string{string(policy.CauseProgram)}, []string{string(policy.CauseDisruption)})
	meter.Zero(m.finished, []string{string(v1alpha1.JobSucceeded)}, []string{string(v1alpha1.JobFailed)})
	return m
}

// count updates the metrics for a decision that was written to the status.
func (m *Metrics) count(s *scope, d *policy.Decision) {
	for _, cause := range d.Faults {
		m.ended.WithLabelValues(string(cause)).Inc()
	}
	for _, e := range d.Events {
		if e.Reason == policy.EventAbandoned {
			m.abandoned.Inc()
		}
	}
	if s.facts.Memory.Ended == "" && d.Memory.Ended != "" {
		m.finished.WithLabelValues(string(d.Memory.Ended)).Inc()
	}
}
