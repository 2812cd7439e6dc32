package rescheduling

import (
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/lru"

	"github.com/holdfast-project/holdfast/rescheduler/api/memory"
	"github.com/holdfast-project/holdfast/rescheduler/internal/policy"
	"github.com/holdfast-project/holdfast/rescheduler/internal/settings"
	"github.com/holdfast-project/holdfast/rescheduler/internal/signals"
	"github.com/holdfast-project/holdfast/shared/bootstrap/meter"
	"github.com/holdfast-project/holdfast/shared/series"
)

// metrics holds the controller's metrics. No label names a node, pod or workload.
type metrics struct {
	meter.Counters
	open         prometheus.GaugeFunc
	replacements prometheus.Histogram

	// seen holds the UIDs of the replacements that were observed.
	seen *lru.Cache
}

// newMetrics registers the metrics. The configuration determines which decisions are possible. open returns 1 while the circuit breaker is
// open, and 0 otherwise.
func newMetrics(registerer prometheus.Registerer, config settings.Rescheduling, open func() float64) *metrics {
	m := &metrics{
		Counters:     meter.NewCounters(registerer, series.Decisions, series.Moves, series.FilledPods),
		replacements: meter.Histogram(series.ReplacementDuration, []float64{0.25, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300}),
		open:         meter.GaugeFunc(series.BreakerOpen, open),
		seen:         lru.New(maxReported),
	}
	registerer.MustRegister(m.replacements, m.open)
	m.Zero(series.Moves, string(moved), string(blocked), string(contradicted), string(gone))
	m.Zero(series.Decisions, outcomes(config)...)
	return m
}

// outcomes returns the reason and the signal of each published decision, one after the other. There are fewer than 250 decisions.
func outcomes(config settings.Rescheduling) []string {
	all := []string{reasonLifted, ""} // does not depend on a signal of the pod
	for _, row := range config.Table() {
		if row.Trigger == signals.Off {
			continue
		}
		for _, reason := range policy.Reasons[row.Action] {
			all = append(all, reason, row.Name)
		}
		if row.Action == signals.Move {
			all = append(all, reasonBlocked, row.Name)
		}
	}
	return all
}

const (
	// fresh is the maximum age of a binding that is counted. Older ones were counted by this process or its predecessor.
	fresh = time.Minute
	// overtakes is how long before a recorded failure its replacement may have been created.
	overtakes = time.Minute
	// latest is how long after a failure a new pod is considered its replacement. Later pods come from scaling or a rollout.
	latest = 15 * time.Minute
)

// bound observes the time from a failure until its replacement is bound, once for each replacement.
func (m *metrics) bound(s *scope) {
	failed, at := failureBehind(s.pod, s.memory), signals.Since(s.pod, corev1.PodScheduled, corev1.ConditionTrue)
	if failed.IsZero() || at.IsZero() || s.now.Sub(at) >= fresh {
		return
	}
	if _, found := m.seen.Get(s.pod.UID); found {
		return
	}
	m.seen.Add(s.pod.UID, nil)
	m.replacements.Observe(max(0, at.Sub(failed).Seconds()))
}

// failureBehind returns the time of the failure that led to the pod's creation: the last recorded one on its excluded nodes. It returns
// zero if the pod is not a replacement.
func failureBehind(pod *corev1.Pod, remembered memory.Memory) (last time.Time) {
	hosts, made := memory.Hosts(pod.Annotations), pod.CreationTimestamp.Time
	for _, e := range remembered.Entries {
		before := made.Sub(e.Last)
		if slices.Contains(hosts, e.Node) && before >= -overtakes && before <= latest && e.Last.After(last) {
			last = e.Last
		}
	}
	return last
}
