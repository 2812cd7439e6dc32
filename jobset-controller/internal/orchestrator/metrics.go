package orchestrator

import (
	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

var (
	restarts = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "holdfast_inplace_restarts_total",
		Help: "Restarts in place that were charged to a JobSet, by the kind of failure that caused them.",
	}, []string{"kind"})
	failOvers = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "holdfast_inplace_failovers_total",
		Help: "Restarts in place that gave way to a full recreation, by why.",
	}, []string{"kind"})
	restartSeconds = prometheus.NewHistogram(prometheus.HistogramOpts{
		Name:    "holdfast_inplace_restart_duration_seconds",
		Help:    "From the order to restart until all workers were in sync again.",
		Buckets: []float64{0.05, 0.1, 0.25, 0.5, 1, 1.5, 2, 3, 5, 10, 30, 60, 120, 300},
	})
)

func init() { metrics.Registry.MustRegister(restarts, failOvers, restartSeconds) }
