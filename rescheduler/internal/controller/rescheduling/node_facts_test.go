package rescheduling

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/holdfast-project/holdfast/rescheduler/internal/nodes"
	"github.com/holdfast-project/holdfast/rescheduler/internal/settings"
	"github.com/holdfast-project/holdfast/rescheduler/internal/testing/pods"
)

// cached lists nodes like the cache of controller-runtime, without the copies that the fake client makes.
type cached struct {
	client.Client
	nodes []runtime.Object
}

func (c cached) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	if _, ok := list.(*corev1.NodeList); !ok {
		return c.Client.List(ctx, list, options...)
	}
	return meta.SetList(list, append([]runtime.Object(nil), c.nodes...))
}

// BenchmarkNodeFacts measures the cost of reading the 5,000 nodes of a cluster for each decision about a
// lasting signal.
func BenchmarkNodeFacts(b *testing.B) {
	for name, pod := range map[string]*corev1.Pod{
		"another node fits":  pods.Make("p", noon).On("n1").Obj(),
		"no other node fits": pods.Make("p", noon).On("n1").Change(func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{"pool": "mine"} }).Obj(),
	} {
		b.Run(name, func(b *testing.B) {
			w := newWorld(&testing.T{}, settings.Default(), interceptor.Funcs{})
			c := cached{Client: w.Client}
			for i := range 5000 {
				c.nodes = append(c.nodes, ready(fmt.Sprint("n", i)))
			}
			w.Nodes = nodes.NewLister(c, clock.RealClock{})
			s, m := w.of(pod, workload("w")), matched("RuntimeError")
			b.ReportAllocs()
			for b.Loop() {
				if _, err := w.facts(b.Context(), s, m); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
