package orchestrator

import (
	"strconv"
	"sync/atomic"

	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/holdfast-project/holdfast/jobset-controller/internal/orchestrator/accounting"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/orchestrator/forming"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/orchestrator/ladder"
	"github.com/holdfast-project/holdfast/shared/bootstrap/meter"
	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/history"
	"github.com/holdfast-project/holdfast/shared/series"
)

var (
	restarts          = meter.CounterVec(series.Restarts)
	lostSeconds       = meter.CounterVec(series.LostWorkerSeconds)
	outOfSync         = meter.Gauge(series.OutOfSync)
	fencingRejections = meter.Counter(series.FencingRejections)
	evictions         = meter.Counter(series.Evictions)
	escalations       = meter.CounterVec(series.Escalations)
	groups            = meter.GaugeVec(series.Groups)
	roundsEnded       = meter.CounterVec(series.Rounds)
	timeouts          = meter.Counter(series.Timeouts)
	runningSeconds    = meter.CounterFunc(series.RunningWorkerSeconds, func() float64 {
		if r := registered.Load(); r != nil {
			return r.states.seconds(r.Clock.Now())
		}
		return 0
	})
	waitingToJoin   = meter.GaugeVec(series.WaitingToJoin)
	earlyFailures   = meter.Counter(series.EarlyFailures)
	formingTimeouts = meter.Counter(series.FormingTimeouts)
	storeErrors     = meter.Counter(series.StoreErrors)
	leading         = meter.Gauge(series.Leading)
	restartSeconds  = meter.HistogramVec(series.RestartDuration, buckets)
)

// registered is the Reconciler of this process, once it has one.
var registered atomic.Pointer[Reconciler]

var buckets = []float64{0.001, 0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 1.5, 2, 3, 5, 10, 30, 60, 120, 300, 1200}

func init() {
	metrics.Registry.MustRegister(restarts, evictions, escalations, groups, roundsEnded, timeouts, storeErrors, leading,
		restartSeconds, lostSeconds, outOfSync, fencingRejections, runningSeconds, waitingToJoin, earlyFailures, formingTimeouts)
	meter.Zero(escalations, []string{string(ladder.Pod)}, []string{string(ladder.Job)}, []string{"group"})
	for _, kind := range forming.Kinds {
		waitingToJoin.WithLabelValues(string(kind)).Set(0)
	}
	for cause := range causes {
		meter.Zero(restarts, []string{history.InPlace, cause, "true"})
		meter.Zero(lostSeconds, []string{cause})
	}
	for _, end := range []history.End{history.Running, history.Overtaken, history.GivenUp} {
		meter.Zero(roundsEnded, []string{outcome(end)})
	}
	for _, phase := range history.Phases {
		meter.Zero(restartSeconds, []string{history.InPlace, phase.String()})
	}
}

// causes are the values of the label that says what caused a restart. Agents may ask for a recreation in words of their own.
var causes = map[string]bool{
	coordination.KindExit: true, coordination.KindHang: true, coordination.KindReplaced: true, coordination.KindPod: true,
	coordination.KindRecovery: true, coordination.KindFinished: true, coordination.KindGap: true, coordination.KindTimeout: true,
	coordination.KindUnkilled: true, coordination.KindStops: true, accounting.KindPolicy: true, forming.KindForming: true,
}

func reasonLabel(kind string) string {
	if causes[kind] {
		return kind
	}
	return "other"
}

func boolLabel(b bool) string { return strconv.FormatBool(b) }
