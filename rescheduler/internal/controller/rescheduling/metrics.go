package rescheduling

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"

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
	open         prometheus.Gauge
	tainted      prometheus.Gauge
	replacements prometheus.Histogram

	mu   sync.Mutex
	seen map[string]bool
}

// NewMetrics registers them. Which decisions there may be is for the configuration.
func NewMetrics(registerer prometheus.Registerer, config settings.Rescheduling) *Metrics {
	m := &Metrics{
		decisions:    meter.CounterVec(series.Decisions),
		moves:        meter.CounterVec(series.Moves),
		fills:        meter.Counter(series.FilledPods),
		open:         meter.Gauge(series.BreakerOpen),
		tainted:      meter.Gauge(series.TaintedNodes),
		replacements: meter.Histogram(series.ReplacementDuration, []float64{0.25, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300}),
		seen:         map[string]bool{},
	}
	registerer.MustRegister(m.decisions, m.moves, m.fills, m.open, m.tainted, m.replacements)
	meter.Zero(m.moves, []string{string(moved)}, []string{string(blocked)}, []string{string(gone)})
	meter.Zero(m.decisions, outcomes(config)...)
	return m
}

// outcomes are the reasons and signals of all decisions that people may be told of: fewer than 200.
func outcomes(config settings.Rescheduling) [][]string {
	all := [][]string{{reasonLifted, ""}} // nothing is wrong with the pod itself
	rules := config.Rules()
	for _, row := range config.Table() {
		if row.Trigger == signals.Off {
			continue
		}
		for _, reason := range rules.Reasons(row) {
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

func (m *Metrics) breaker(open bool) {
	value := 0.0
	if open {
		value = 1
	}
	m.open.Set(value)
}

// youngest: of older pods it is not known when they were bound.
const youngest = time.Minute

// bound observes a replacement that has a node, once.
func (m *Metrics) bound(s *scope) {
	last := lastFailure(s.memory)
	young := s.now.Sub(s.pod.CreationTimestamp.Time) < youngest
	if last.IsZero() || !young || len(memory.Hosts(s.pod.Annotations)) == 0 {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.seen[string(s.pod.UID)] {
		return
	}
	if len(m.seen) >= sayings {
		clear(m.seen)
	}
	m.seen[string(s.pod.UID)] = true
	for _, c := range s.pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionTrue {
			m.replacements.Observe(max(0, c.LastTransitionTime.Sub(last).Seconds()))
		}
	}
}
