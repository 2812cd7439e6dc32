package orchestrator

import (
	"strconv"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/holdfast-project/holdfast/jobset-controller/internal/orchestrator/accounting"
	"github.com/holdfast-project/holdfast/shared/coordination"
)

var (
	restarts = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "holdfast_restarts_total",
		Help: "Restarts that have ended, by kind (in-place, recreation), what caused them, and whether they count towards maxRestarts. " +
			"Those that the failure policy decides are counted by the manager.",
	}, []string{"kind", "reason", "counted"})
	lostSeconds = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "holdfast_lost_worker_seconds_total",
		Help: "Workers times seconds from a failure to the moment at which all of them run again, by what caused it.",
	}, []string{"cause"})
	barrierWait = prometheus.NewHistogram(prometheus.HistogramOpts{
		Name:    "holdfast_barrier_wait_seconds",
		Help:    "How long the first worker of a restart in place that was there waited for the last one.",
		Buckets: buckets,
	})
	outOfSync = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "holdfast_workers_out_of_sync",
		Help: "Workers that the groups which form or restart wait for, as of the last look.",
	})
	fencingRejections = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "holdfast_fencing_rejections_total",
		Help: "Calls that the store refused, by caller: of an orchestrator, because a newer leader or a later epoch has taken over; " +
			"of an agent, because its pod lost its slot or belongs to an earlier epoch.",
	}, []string{"caller"})
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
		Help: "Restarts in place that have ended, by outcome: in_sync, overtaken by the next one, or given_up.",
	}, []string{"outcome"})
	timeouts = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "holdfast_inplace_timeouts_total",
		Help: "Restarts in place that did not end within inplace-timeout.",
	})
	runningSeconds = prometheus.NewCounterFunc(prometheus.CounterOpts{
		Name: "holdfast_running_worker_seconds_total",
		Help: "Workers times seconds in which their groups were in sync while this process led them.",
	}, func() float64 {
		if r := registered.Load(); r != nil {
			return r.usage.seconds(r.Clock.Now())
		}
		return 0
	})
	storeErrors = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "holdfast_store_errors_total",
		Help: "Calls of the orchestrator that the store did not answer.",
	})
	leading = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "holdfast_orchestrator_leader",
		Help: "1 while this process leads.",
	})
	restartSeconds = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "holdfast_restart_duration_seconds",
		Help: "Parts of a restart, by kind (in-place, recreation): detect (from the failure to its detection), order (to the order), " +
			"down (to the last old worker's end), start and sync (until all new workers run). They add up to the outage.",
		Buckets: buckets,
	}, []string{"kind", "phase"})
)

// registered is the Reconciler of this process, once it has one.
var registered atomic.Pointer[Reconciler]

var buckets = []float64{0.001, 0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 1.5, 2, 3, 5, 10, 30, 60, 120, 300, 1200}

func init() {
	metrics.Registry.MustRegister(restarts, evictions, escalations, groups, roundsEnded, timeouts, storeErrors, leading,
		restartSeconds, lostSeconds, barrierWait, outOfSync, fencingRejections, runningSeconds)
}

// causes are the values of the label that says what caused a restart. Agents may ask for a recreation in words of their own.
var causes = map[string]bool{
	coordination.KindExit: true, coordination.KindHang: true, coordination.KindReplaced: true, coordination.KindPod: true,
	coordination.KindRecovery: true, coordination.KindFinished: true, coordination.KindGap: true, coordination.KindTimeout: true,
	coordination.KindUnkilled: true, coordination.KindStops: true, accounting.KindPolicy: true,
}

func reasonLabel(kind string) string {
	if causes[kind] {
		return kind
	}
	return "other"
}

func boolLabel(b bool) string { return strconv.FormatBool(b) }
