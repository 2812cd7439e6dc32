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
	meter.Counters
	durations *prometheus.HistogramVec
}

func NewMetrics(registerer prometheus.Registerer) *Metrics {
	m := &Metrics{
		meter.NewCounters(registerer,
			series.JobSetsCompleted, series.JobSetsFailed, series.JobSetRestarts, series.JobRestarts, series.Restarts, series.LostWorkerSeconds),
		meter.HistogramVec(series.RestartDuration, []float64{0.05, 0.1, 0.25, 0.5, 1, 2, 3, 5, 10, 30, 60, 120, 300, 1200}),
	}
	registerer.MustRegister(m.durations)
	m.Zero(series.JobSetRestarts, "true", "false")
	m.Zero(series.JobRestarts, "true", "false")
	m.Zero(series.Restarts, history.Recreation, policy.RecreationCause, "true", history.Recreation, policy.RecreationCause, "false")
	m.Zero(series.LostWorkerSeconds, policy.RecreationCause)
	for _, phase := range history.Phases {
		m.durations.WithLabelValues(history.Recreation, phase.String())
	}
	return m
}

// count is called after a decision has been recorded. A decision is recorded only if the JobSet has not changed since
// it was observed, so each restart, completion and failure is counted once.
func (m *Metrics) count(d policy.Decision) {
	switch d.Outcome {
	case policy.Complete:
		m.Inc(series.JobSetsCompleted)
	case policy.Fail:
		m.Inc(series.JobSetsFailed, d.Reason)
	case policy.Restart:
		counts := strconv.FormatBool(d.First().Counts())
		m.Inc(series.JobSetRestarts, counts)
		m.Inc(series.Restarts, history.Recreation, policy.RecreationCause, counts)
	case policy.RestartJobs:
		for _, restart := range d.Rulings {
			m.Inc(series.JobRestarts, strconv.FormatBool(restart.Counts()))
		}
	}
}

// NewBudgets returns a gauge for the largest fraction of its restart budget that any JobSet has used. It is NaN while
// the JobSets cannot be read.
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
