package jobset

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/holdfast-project/holdfast/jobset-controller/internal/policy"
	"github.com/holdfast-project/holdfast/shared/history"
)

// Metrics of the controller. Labels have few values; none names an object.
type Metrics struct {
	completed   prometheus.Counter
	failed      *prometheus.CounterVec
	restarts    *prometheus.CounterVec
	jobRestarts *prometheus.CounterVec
	accounted   *prometheus.CounterVec
	durations   *prometheus.HistogramVec
	lost        *prometheus.CounterVec
}

// NewMetrics makes the metrics and registers them.
func NewMetrics(registerer prometheus.Registerer) *Metrics {
	m := &Metrics{
		completed: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "jobset_completed_total",
			Help: "JobSets that have completed.",
		}),
		failed: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "jobset_failed_total",
			Help: "JobSets that have failed, by the reason of their Failed condition.",
		}, []string{"reason"}),
		restarts: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "jobset_restarts_total",
			Help: "Restarts of JobSets that recreate all Jobs, by whether they count towards maxRestarts.",
		}, []string{"counted"}),
		accounted: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "holdfast_restarts_total",
			Help: "Restarts that the failure policy has decided, in the words of the orchestrator's metric of that name: kind recreation, " +
				"reason policy, and whether they count towards maxRestarts.",
		}, []string{"kind", "reason", "counted"}),
		durations: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "holdfast_restart_duration_seconds",
			Help:    "Parts of a recreation of a JobSet without in-place restarts, in the words of the orchestrator's metric of that name. They add up to the outage.",
			Buckets: []float64{0.05, 0.1, 0.25, 0.5, 1, 2, 3, 5, 10, 30, 60, 120, 300, 1200},
		}, []string{"kind", "phase"}),
		lost: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "holdfast_lost_worker_seconds_total",
			Help: "Workers times seconds of such recreations, by what caused them.",
		}, []string{"cause"}),
		jobRestarts: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "jobset_job_restarts_total",
			Help: "Restarts of single Jobs of JobSets, by whether they count towards maxRestarts.",
		}, []string{"counted"}),
	}
	registerer.MustRegister(m.completed, m.failed, m.restarts, m.jobRestarts, m.accounted, m.durations, m.lost)
	return m
}

// count is called after a decision was recorded. The record is made only onto the version of the JobSet that was observed, which
// does not have it: so each restart, and each end, is counted once.
func (m *Metrics) count(d policy.Decision) {
	switch d.Outcome {
	case policy.Complete:
		m.completed.Inc()
	case policy.Fail:
		m.failed.WithLabelValues(d.Reason).Inc()
	case policy.Restart:
		m.restarts.WithLabelValues(strconv.FormatBool(d.Counts)).Inc()
		m.accounted.WithLabelValues(history.Recreation, "policy", strconv.FormatBool(d.Counts)).Inc()
	case policy.RestartJobs:
		for _, restart := range d.Restarts {
			m.jobRestarts.WithLabelValues(strconv.FormatBool(restart.Counts)).Inc()
		}
	}
}
