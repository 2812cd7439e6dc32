// Package plugin is PodRescheduling, the scheduler's side of seed 004: a pod is not scheduled to nodes that its annotation names. It fails
// open. What cannot be read counts as absent, and exclusions that are all that keeps a pod from being scheduled are dropped.
package plugin

import (
	"context"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/utils/clock"

	"github.com/holdfast-project/holdfast/rescheduler/api/memory"
	"github.com/holdfast-project/holdfast/rescheduler/scheduler/internal/exclusion"
	"github.com/holdfast-project/holdfast/rescheduler/scheduler/internal/settings"
	"github.com/holdfast-project/holdfast/shared/series"
)

// Name of the plugin in the scheduler's configuration.
const Name = "PodRescheduling"

// mostRelaxed pods are remembered at a time: some 100 bytes and an annotation each.
const mostRelaxed = 10_000

// Plugin is one profile's instance.
type Plugin struct {
	args    settings.Args
	handle  fwk.Handle
	relaxed *cache.LRUExpireCache // values of annotations that no longer count, by the UID of their pod
	clearer *clearer              // nil: annotations are left as they are
}

var (
	_ fwk.PreFilterPlugin   = &Plugin{}
	_ fwk.FilterPlugin      = &Plugin{}
	_ fwk.PostFilterPlugin  = &Plugin{}
	_ fwk.SignPlugin        = &Plugin{}
	_ fwk.EnqueueExtensions = &Plugin{}
)

// New is the plugin's factory. It refuses arguments that are wrong, with the field's name. What it starts ends with the context.
func New(ctx context.Context, arguments runtime.Object, handle fwk.Handle) (fwk.Plugin, error) {
	args, err := read(arguments)
	if err != nil {
		return nil, err
	}
	registerMetrics()
	p := newPlugin(args, handle, clock.RealClock{})
	if *args.ClearAnnotation {
		p.clearer = newClearer(handle)
		p.clearer.start(ctx)
	}
	return p, nil
}

func newPlugin(args settings.Args, handle fwk.Handle, clock clock.PassiveClock) *Plugin {
	return &Plugin{args: args, handle: handle, relaxed: cache.NewLRUExpireCacheWithClock(mostRelaxed, clock)}
}

// read the arguments from what the scheduler makes of those of a plugin that it does not know.
func read(arguments runtime.Object) (settings.Args, error) {
	switch a := arguments.(type) {
	case nil:
		return settings.Read(nil)
	case *runtime.Unknown:
		if a == nil {
			return settings.Read(nil)
		}
		return settings.Read(a.Raw)
	default:
		return settings.Args{}, fmt.Errorf("the arguments of %s are %T, not those of a plugin from outside of the scheduler", Name, arguments)
	}
}

// Name of the plugin.
func (p *Plugin) Name() string { return Name }

// excluded reads the pod's annotation. An annotation that was dropped excludes nobody, nor does one that is broken: that is the error.
func (p *Plugin) excluded(pod *corev1.Pod) (exclusion.Set, error) {
	value, found := pod.Annotations[memory.HostsAnnotation]
	if !found {
		return exclusion.Set{}, nil
	}
	if relaxed, found := p.relaxed.Get(pod.UID); found && relaxed == value {
		return exclusion.Set{}, nil
	}
	return exclusion.Read(value)
}

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
