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

// Metrics of the controller. None has a label that grows with nodes, pods or workloads.
type Metrics struct {
	decisions    *prometheus.CounterVec
	moves        *prometheus.CounterVec
	fills        prometheus.Counter
	open         prometheus.GaugeFunc
	taints       prometheus.GaugeFunc
	replacements prometheus.Histogram

	// seen are replacements that were observed, by their UID.
	seen *lru.Cache

	registerer prometheus.Registerer
}

// NewMetrics registers them. Which decisions there may be is for the configuration.
func NewMetrics(registerer prometheus.Registerer, config settings.Rescheduling) *Metrics {
	m := &Metrics{
		decisions:    meter.CounterVec(series.Decisions),
		moves:        meter.CounterVec(series.Moves),
		fills:        meter.Counter(series.FilledPods),
		replacements: meter.Histogram(series.ReplacementDuration, []float64{0.25, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300}),
		seen:         lru.New(maxReported),
		registerer:   registerer,
	}
	registerer.MustRegister(m.decisions, m.moves, m.fills, m.replacements)
	meter.Zero(m.moves, []string{string(moved)}, []string{string(blocked)}, []string{string(contradicted)}, []string{string(gone)})
	meter.Zero(m.decisions, outcomes(config)...)
	return m
}

// follow registers what changes by time, with nothing happening: whether the breaker is open, and how many nodes are tainted.
func (m *Metrics) follow(open func() bool, tainted func() float64) {
	m.open = meter.GaugeFunc(series.BreakerOpen, func() float64 {
		if open() {
			return 1
		}
		return 0
	})
	m.taints = meter.GaugeFunc(series.TaintedNodes, tainted)
	m.registerer.MustRegister(m.open, m.taints)
}

// outcomes are the reasons and signals of all decisions that people may be told of: fewer than 200.
func outcomes(config settings.Rescheduling) [][]string {
	all := [][]string{{reasonLifted, ""}} // nothing is wrong with the pod itself
	for _, row := range config.Table() {
		if row.Trigger == signals.Off {
			continue
		}
		for _, reason := range policy.Reasons(row, config.DryRun) {
			all = append(all, []string{reason, row.Name})
			if reason == policy.Moved {
				all = append(all, []string{reasonBlocked, row.Name})
			}
		}
	}
	return all
}

func (m *Metrics) decided(reason, signal string) { m.decisions.WithLabelValues(reason, signal).Inc() }

func (m *Metrics) moved(o outcome) { m.moves.WithLabelValues(string(o)).Inc() }

func (m *Metrics) filled() { m.fills.Inc() }

const (
	// fresh: what was bound longer ago has been counted, by this process or by the one before.
	fresh = time.Minute
	// overtakes: a controller may have made the replacement before the failure was written down.
	overtakes = time.Minute
	// latest: a pod that is created later than this after a failure is no replacement. The workload has grown, or is rolled out again.
	latest = 15 * time.Minute
)

// bound observes a replacement that has a node, once, however long it had none.
func (m *Metrics) bound(s *scope) {
	failed, at := failureBehind(s.pod, s.memory), boundAt(s.pod)
	if failed.IsZero() || at.IsZero() || s.now.Sub(at) >= fresh {
		return
	}
	if _, found := m.seen.Get(s.pod.UID); found {
		return
	}
	m.seen.Add(s.pod.UID, nil)
	m.replacements.Observe(max(0, at.Sub(failed).Seconds()))
}

// failureBehind is the last failure on the nodes that the pod is kept away from, of those before the pod was made; zero: it replaces none.
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

// boundAt is when the pod got its node, by the API server's clock; zero: it does not say.
func boundAt(pod *corev1.Pod) time.Time {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionTrue {
			return c.LastTransitionTime.Time
		}
	}
	return time.Time{}
}
