package rescheduling

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/holdfast-project/holdfast/rescheduler/internal/policy"
	"github.com/holdfast-project/holdfast/rescheduler/internal/settings"
	"github.com/holdfast-project/holdfast/rescheduler/internal/testing/pods"
)

// stale is a cache that never hears of what was written.
func stale(nodes ...*corev1.Node) interceptor.Funcs {
	return interceptor.Funcs{List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
		all, ok := list.(*corev1.NodeList)
		if !ok {
			return c.List(ctx, list, opts...)
		}
		for _, node := range nodes {
			all.Items = append(all.Items, *node.DeepCopy())
		}
		return nil
	}}
}

func blaming() settings.Rescheduling {
	config := settings.Default()
	config.Blame.Taint, config.Blame.MaxNodes, config.Blame.MaxShare = true, 1, 50
	return config
}

func TestTheBoundOfTaintedNodesHoldsBeforeTheCacheKnows(t *testing.T) {
	var nodes []*corev1.Node
	var objects []client.Object
	for i := range 4 {
		nodes = append(nodes, ready(fmt.Sprint("n", i)))
		objects = append(objects, nodes[i])
	}
	w := newWorld(t, blaming(), stale(nodes...), objects...)
	for i := range nodes {
		s := w.of(pods.Make("p", noon).On(nodes[i].Name).Obj(), workload("w"))
		_, err := w.taint(t.Context(), s, &policy.Decision{Taint: true})
		w.ok(err)
	}
	tainted := 0
	for _, node := range nodes {
		if isTainted(w.node(node.Name)) {
			tainted++
		}
	}
	if tainted != 1 {
		t.Errorf("%d nodes are tainted, one may be", tainted)
	}
}

func TestANodeThatIsTaintedIsTaintedOnce(t *testing.T) {
	node := ready("a")
	w := newWorld(t, blaming(), stale(node), node)
	s := w.of(pods.Make("p", noon).Obj(), workload("w"))
	for range 2 {
		_, err := w.taint(t.Context(), s, &policy.Decision{Taint: true})
		w.ok(err)
	}
	if taints := w.node("a").Spec.Taints; len(taints) != 1 {
		t.Errorf("taints: %v", taints)
	}
	if w.heard["*v1.Node"] != 1 {
		t.Errorf("events: %v", w.heard)
	}
}

// Kueue would place it there again: without the taint the move would be for nothing.
func TestAPodOfKueueStaysWhereNoMoreNodesMayBeTainted(t *testing.T) {
	pod := pods.Make("p", noon).On("a").Obj()
	w := newWorld(t, blaming(), interceptor.Funcs{}, pod, ready("a"), ready("b", func(n *corev1.Node) {
		n.Spec.Taints = []corev1.Taint{{Key: TaintKey, Effect: corev1.TaintEffectNoSchedule}}
	}))
	s := w.of(pod, workload("w"))
	result, err := w.carryOut(t.Context(), s, matched("RuntimeError"), &policy.Decision{Act: policy.Evict, Reason: policy.Moved, Taint: true})
	w.ok(err)
	if _, stays := w.pod("p"); !stays || result.RequeueAfter <= 0 {
		t.Errorf("it is there: %t, and looked at again after %s", stays, result.RequeueAfter)
	}
	if w.heard["*v1.Pod"] != 1 {
		t.Errorf("events: %v", w.heard)
	}
}

// Taints end by time, with nothing happening to any pod.
func TestTaintedNodesAreCountedAsTheyAre(t *testing.T) {
	w := newWorld(t, blaming(), interceptor.Funcs{}, ready("a"), ready("b"))
	_, err := w.taint(t.Context(), w.of(pods.Make("p", noon).On("a").Obj(), workload("w")), &policy.Decision{Taint: true})
	w.ok(err)
	if count, _, _ := gathered(t, w.metrics.taints); count != 1 {
		t.Errorf("%v of one", count)
	}
	node := w.node("a")
	node.Spec.Taints = nil
	w.ok(w.client.Update(t.Context(), node))
	if count, _, _ := gathered(t, w.metrics.taints); count != 0 {
		t.Errorf("%v of none", count)
	}
}
