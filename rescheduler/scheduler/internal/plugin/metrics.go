package plugin

import (
	"sync"

	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"

	"github.com/holdfast-project/holdfast/shared/series"
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
	exclusionsIgnored = counter(series.ExclusionsIgnored)
	podsRelaxed       = counter(series.PodsRelaxed)
	annotationsClear  = counter(series.AnnotationsCleared)
)

func counter(m series.Metric) *metrics.CounterVec {
	return metrics.NewCounterVec(&metrics.CounterOpts{Name: m.Name, Help: m.Help, StabilityLevel: metrics.ALPHA}, m.Labels)
}

// registerMetrics once, however many profiles have the plugin.
var registerMetrics = sync.OnceFunc(func() {
	legacyregistry.MustRegister(exclusionsIgnored, podsRelaxed, annotationsClear)
	for _, reason := range []ignored{unreadable, noNodeLeft} { // so that the first increase is seen
		exclusionsIgnored.WithLabelValues(string(reason))
	}
})
