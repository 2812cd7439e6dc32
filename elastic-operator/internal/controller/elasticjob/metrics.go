package elasticjob

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/holdfast-project/holdfast/elastic-operator/internal/policy"
)

// Metrics of the controller. No label names an object.
type Metrics struct {
	created  prometheus.Counter
	ended    *prometheus.CounterVec
	finished *prometheus.CounterVec
	givenUp  prometheus.Counter
}

// NewMetrics makes the metrics and registers them.
func NewMetrics(registerer prometheus.Registerer) *Metrics {
	m := &Metrics{
		created: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "elasticjob_pods_created_total", Help: "Pods that were created for ElasticJobs.",
		}),
		ended: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "elasticjob_workers_ended_total", Help: "Workers that ended before their work was done, by what ended them: program or disruption.",
		}, []string{"cause"}),
		finished: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "elasticjob_finished_total", Help: "ElasticJobs that finished, by their last condition: Succeeded or Failed.",
		}, []string{"outcome"}),
		givenUp: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "elasticjob_workers_given_up_total", Help: "Workers that are not replaced any more.",
		}),
	}
	registerer.MustRegister(m.created, m.ended, m.finished, m.givenUp)
	return m
}

// count what was written down.
func (m *Metrics) count(s *scope, d *policy.Decision) {
	for _, cause := range d.Faults {
		m.ended.WithLabelValues(string(cause)).Inc()
	}
	for _, e := range d.Events {
		if e.Reason == policy.EventGivenUp {
			m.givenUp.Inc()
		}
	}
	if s.facts.Memory.Ended == "" && d.Memory.Ended != "" {
		m.finished.WithLabelValues(string(d.Memory.Ended)).Inc()
	}
}
