package jobset

import (
	"context"
	"math"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/policy"
	"github.com/holdfast-project/holdfast/shared/bootstrap/meter"
	"github.com/holdfast-project/holdfast/shared/history"
	"github.com/holdfast-project/holdfast/shared/series"
)

// Metrics holds the metrics of the controller. Labels have few values, and none of them names an object.
type Metrics struct {
	completed   prometheus.Counter
	failed      *prometheus.CounterVec
	restarts    *prometheus.CounterVec
	jobRestarts *prometheus.CounterVec
	accounted   *prometheus.CounterVec
	durations   *prometheus.HistogramVec
	lost        *prometheus.CounterVec
}

func NewMetrics(registerer prometheus.Registerer) *Metrics {
	m := &Metrics{
		completed:   meter.Counter(series.JobSetsCompleted),
		failed:      meter.CounterVec(series.JobSetsFailed),
		restarts:    meter.CounterVec(series.JobSetRestarts),
		jobRestarts: meter.CounterVec(series.JobRestarts),
		accounted:   meter.CounterVec(series.Restarts),
		durations:   meter.HistogramVec(series.RestartDuration, []float64{0.05, 0.1, 0.25, 0.5, 1, 2, 3, 5, 10, 30, 60, 120, 300, 1200}),
		lost:        meter.CounterVec(series.LostWorkerSeconds),
	}
	registerer.MustRegister(m.completed, m.failed, m.restarts, m.jobRestarts, m.accounted, m.durations, m.lost)
	meter.Zero(m.restarts, []string{"true"}, []string{"false"})
	meter.Zero(m.jobRestarts, []string{"true"}, []string{"false"})
	meter.Zero(m.accounted, []string{history.Recreation, policy.RecreationCause, "true"}, []string{history.Recreation, policy.RecreationCause, "false"})
	meter.Zero(m.lost, []string{policy.RecreationCause})
	for _, phase := range history.Phases {
		meter.Zero(m.durations, []string{history.Recreation, phase.String()})
	}
	return m
}

// count is called after a decision has been recorded. A decision is recorded only if the JobSet has not changed since
// it was observed, so each restart, completion and failure is counted once.
func (m *Metrics) count(d policy.Decision) {
	switch d.Outcome {
	case policy.Complete:
		m.completed.Inc()
	case policy.Fail:
		m.failed.WithLabelValues(d.Reason).Inc()
	case policy.Restart:
		m.restarts.WithLabelValues(strconv.FormatBool(d.Counts)).Inc()
		m.accounted.WithLabelValues(history.Recreation, policy.RecreationCause, strconv.FormatBool(d.Counts)).Inc()
	case policy.RestartJobs:
		for _, restart := range d.Restarts {
			m.jobRestarts.WithLabelValues(strconv.FormatBool(restart.Counts)).Inc()
		}
	}
}

// NewBudgets returns a gauge for the largest fraction of its restart budget that any JobSet has used. It is not a number
// while the JobSets cannot be read.
func NewBudgets(reader client.Reader) prometheus.Collector {
	return meter.GaugeFunc(series.RestartBudgetUsed, func() float64 {
		var list v1alpha2.JobSetList
		if err := reader.List(context.Background(), &list, client.UnsafeDisableDeepCopy); err != nil {
			return math.NaN()
		}
		largest := 0.0
		for i := range list.Items {
			largest = max(largest, policy.BudgetUsed(&list.Items[i]))
		}
		return largest
	})
}
