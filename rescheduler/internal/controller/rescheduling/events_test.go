package rescheduling

import (
	"fmt"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/lru"

	"github.com/holdfast-project/holdfast/rescheduler/internal/owners"
	"github.com/holdfast-project/holdfast/rescheduler/internal/policy"
	"github.com/holdfast-project/holdfast/rescheduler/internal/settings"
	"github.com/holdfast-project/holdfast/rescheduler/internal/signals"
	"github.com/holdfast-project/holdfast/rescheduler/internal/testing/pods"
)

// heard counts events by the object's kind.
type heard map[string]int

func (h heard) Eventf(o, _ runtime.Object, _, _, _, _ string, _ ...any) {
	h[fmt.Sprintf("%T", o)]++
}

// When hundreds of pods fail in the same way on one node, their workload gets one event. Otherwise its annotations would be written
// hundreds of times, and copied to its ReplicaSet each time.
func TestWorkloadGetsOneEventForManyPods(t *testing.T) {
	events := heard{}
	r := &Reconciler{Options: Options{Recorder: events}, metrics: newMetrics(prometheus.NewRegistry(), settings.Default(), closed), reported: lru.New(maxReported)}
	for i := range 100 {
		s := &scope{
			pod: pods.Make(fmt.Sprint("p", i), noon).Obj(), now: noon, chain: owners.Chain{{}},
			subject: &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{UID: "w", Name: "w"}},
		}
		r.announce(t.Context(), s, signals.Match{Row: signals.Row{Name: "ConfigError"}}, &policy.Decision{Reason: policy.NeverMoved, Message: "no"})
	}
	if events["*v1.Pod"] != 100 || events["*v1.PartialObjectMetadata"] != 1 {
		t.Errorf("events: %v", events)
	}
}
