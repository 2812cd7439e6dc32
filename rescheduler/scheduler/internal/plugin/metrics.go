package plugin

import (
	"sync"

	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"
)

// ignored says why an annotation counts as absent.
type ignored string

const (
	unreadable ignored = "Unreadable"
	noNodeLeft ignored = "NoNodeLeft"
)

// cleared says what became of removing a relaxed pod's annotation.
type cleared string

const (
	removed cleared = "Removed"
	changed cleared = "Changed" // or the pod is gone
	failed  cleared = "Failed"
)

// The metrics are served with the scheduler's own. None has a label that names a pod or a node.
var (
	exclusionsIgnored = counter("exclusions_ignored_total", "Attempts to schedule a pod that did without its exclusions, by reason.", "reason")
	podsRelaxed       = counter("pods_relaxed_total", "Pods whose exclusions were dropped because nothing else kept them from being scheduled, by reason.", "reason")
	annotationsClear  = counter("annotations_cleared_total", "Annotations of relaxed pods that were to be removed, by result.", "result")
)

func counter(name, help string, labels ...string) *metrics.CounterVec {
	return metrics.NewCounterVec(&metrics.CounterOpts{
		Namespace: "holdfast", Subsystem: "pod_rescheduling", Name: name, Help: help, StabilityLevel: metrics.ALPHA,
	}, labels)
}

// registerMetrics once, however many profiles have the plugin.
var registerMetrics = sync.OnceFunc(func() {
	legacyregistry.MustRegister(exclusionsIgnored, podsRelaxed, annotationsClear)
})
