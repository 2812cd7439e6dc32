// Package plugin implements the PodRescheduling scheduler plugin: a pod is not scheduled to the nodes named in its annotation. It fails
// open: an invalid annotation is ignored, and exclusions are dropped if nothing else prevents the pod from being scheduled.
package plugin

import (
	"context"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/utils/clock"

	"github.com/holdfast-project/holdfast/rescheduler/api/memory"
	"github.com/holdfast-project/holdfast/shared/series"
)

// Name is the plugin's name in the scheduler configuration.
const Name = "PodRescheduling"

const (
	// maxRelaxed limits the number of pods whose dropped exclusions are remembered. Each takes about 100 bytes plus its annotation.
	maxRelaxed = 10_000
	// relaxedFor is how long a dropped annotation is ignored if it cannot be removed.
	relaxedFor = 5 * time.Minute
)

// Plugin is the plugin instance of one scheduler profile.
type Plugin struct {
	handle  fwk.Handle
	relaxed *cache.LRUExpireCache // values of annotations that no longer apply, by pod UID
	// background runs a function outside of the scheduling cycle.
	background func(func())
	firstRetry time.Duration
}

var (
	_ fwk.PreFilterPlugin   = &Plugin{}
	_ fwk.FilterPlugin      = &Plugin{}
	_ fwk.PostFilterPlugin  = &Plugin{}
	_ fwk.SignPlugin        = &Plugin{}
	_ fwk.EnqueueExtensions = &Plugin{}
)

// New creates the plugin. It has no arguments, and ignores those of earlier builds.
func New(_ context.Context, _ runtime.Object, handle fwk.Handle) (fwk.Plugin, error) {
	registerMetrics()
	return newPlugin(handle, clock.RealClock{}), nil
}

func newPlugin(handle fwk.Handle, clock clock.PassiveClock) *Plugin {
	return &Plugin{
		handle: handle, relaxed: cache.NewLRUExpireCacheWithClock(maxRelaxed, clock),
		background: func(work func()) { go work() }, firstRetry: firstRetry,
	}
}

// Name returns the plugin's name.
func (p *Plugin) Name() string { return Name }

// excluded returns the pod's exclusions, or none if they were dropped. An invalid annotation is an error.
func (p *Plugin) excluded(pod *corev1.Pod) (sets.Set[string], error) {
	value, found := pod.Annotations[memory.HostsAnnotation]
	if !found {
		return nil, nil
	}
	if relaxed, found := p.relaxed.Get(pod.UID); found && relaxed == value {
		return nil, nil
	}
	hosts, err := memory.ParseHosts(value)
	return sets.New(hosts...), err
}

// ignored is the reason why an annotation is ignored.
type ignored string

const (
	unreadable ignored = "Unreadable"
	noNodeLeft ignored = "NoNodeLeft"
)

// Metrics, served with those of the scheduler. No label names a pod or node.
var (
	exclusionsIgnored = counter(series.ExclusionsIgnored)
	podsRelaxed       = counter(series.PodsRelaxed)
)

func counter(m series.Metric) *metrics.CounterVec {
	return metrics.NewCounterVec(&metrics.CounterOpts{Name: m.Name, Help: m.Help, StabilityLevel: metrics.ALPHA}, m.Labels)
}

// registerMetrics registers the metrics once for all profiles.
var registerMetrics = sync.OnceFunc(func() {
	legacyregistry.MustRegister(exclusionsIgnored, podsRelaxed)
	for _, reason := range []ignored{unreadable, noNodeLeft} { // so that Prometheus sees the first increase
		exclusionsIgnored.WithLabelValues(string(reason))
	}
})
