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
	evictions = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "holdfast_inplace_evictions_total",
		Help: "Pods that were taken out of their slots because they were gone, had failed or were deleted to bring the slot back.",
	})
	escalations = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "holdfast_inplace_escalations_total",
		Help: "What was recreated because a slot did not join a round: pod, job or group.",
	}, []string{"rung"})
	restartSeconds = prometheus.NewHistogram(prometheus.HistogramOpts{
		Name:    "holdfast_inplace_restart_duration_seconds",
		Help:    "From the order to restart until all workers were in sync again.",
		Buckets: []float64{0.05, 0.1, 0.25, 0.5, 1, 1.5, 2, 3, 5, 10, 30, 60, 120, 300},
	})
)

func init() {
	metrics.Registry.MustRegister(restarts, failOvers, evictions, escalations, restartSeconds)
}
