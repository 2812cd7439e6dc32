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
	groups = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "holdfast_inplace_groups",
		Help: "Groups of workers that this process leads, by phase.",
	}, []string{"phase"})
	roundsEnded = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "holdfast_inplace_rounds_total",
		Help: "Restarts in place that have ended, by outcome: in_sync or given_up.",
	}, []string{"outcome"})
	timeouts = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "holdfast_inplace_timeouts_total",
		Help: "Restarts in place that did not end within inplace-timeout.",
	})
	storeErrors = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "holdfast_orchestrator_store_errors_total",
		Help: "Calls of the orchestrator that the store did not answer.",
	})
	leading = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "holdfast_orchestrator_leader",
		Help: "1 while this process leads.",
	})
	restartSeconds = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "holdfast_inplace_restart_duration_seconds",
		Help: "Parts of a restart in place: detect (exit to its detection), order (to the order), down (to the last old worker's " +
			"end), up (to the last new worker), sync, and total (order to in sync).",
		Buckets: []float64{0.001, 0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 1.5, 2, 3, 5, 10, 30, 60, 120, 300},
	}, []string{"phase"})
)

func init() {
	metrics.Registry.MustRegister(restarts, failOvers, evictions, escalations, groups, roundsEnded, timeouts, storeErrors, leading,
		restartSeconds)
}
