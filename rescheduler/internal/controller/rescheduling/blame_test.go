package rescheduling

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/holdfast-project/holdfast/rescheduler/api/memory"
	"github.com/holdfast-project/holdfast/rescheduler/internal/settings"
	"github.com/holdfast-project/holdfast/rescheduler/internal/testing/pods"
)

// stale is a cache in which writes never become visible.
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

func TestLimitOfTaintedNodesHoldsWithStaleCache(t *testing.T) {
	var nodes []*corev1.Node
	var objects []client.Object
	for i := range 4 {
		nodes = append(nodes, ready(fmt.Sprint("n", i)))
		objects = append(objects, nodes[i])
	}
	w := newWorld(t, blaming(), stale(nodes...), objects...)
	for i := range nodes {
		s := w.of(pods.Make("p", noon).On(nodes[i].Name).Obj(), workload("w"))
		w.accuse(s.pod.Spec.NodeName)
		w.ok(w.taint(t.Context(), s))
	}
	tainted := 0
	for _, node := range nodes {
		if isTainted(w.node(node.Name)) {
			tainted++
		}
	}
	if tainted != 1 {
		t.Errorf("%d nodes are tainted, at most one is allowed", tainted)
	}
}

func TestNodeIsTaintedOnce(t *testing.T) {
	node := ready("a")
	w := newWorld(t, blaming(), stale(node), node)
	s := w.of(pods.Make("p", noon).Obj(), workload("w"))
	for range 2 {
		w.accuse(s.pod.Spec.NodeName)
		w.ok(w.taint(t.Context(), s))
	}
	if taints := w.node("a").Spec.Taints; len(taints) != 1 {
		t.Errorf("taints: %v", taints)
	}
	if w.heard["*v1.Node"] != 1 {
		t.Errorf("events: %v", w.heard)
	}
}

// A single workload never causes a taint, because a node on which only its pods fail may be suitable for all
// others.
func TestOneWorkloadNeverTaintsNode(t *testing.T) {
	owner := workload("w")
	owner.Annotations = map[string]string{memory.RetriesAnnotation: "9"}
	kueue := func(p *corev1.Pod) {
		p.Annotations["kueue.x-k8s.io/workload"] = "w"
		p.Spec.NodeSelector = map[string]string{corev1.LabelHostname: "a"}
	}
	again := func(p *corev1.Pod) {
		p.Spec.Containers[0].Args = []string{"holdfast-exec"}
	}
	var objects []client.Object
	for i := range 12 {
		objects = append(objects, pods.Make(fmt.Sprint("rejected-", i), noon).Change(owned(owner)).Change(kueue).Rejected("UnexpectedAdmissionError", "").Obj(),
			pods.Make(fmt.Sprint("broken-", i), noon.Add(-time.Hour)).Change(owned(owner)).Change(kueue).Waiting("CreateContainerError", 0).Obj(),
			pods.Make(fmt.Sprint("again-", i), noon.Add(-time.Hour)).Change(owned(owner)).Change(kueue).Change(again).Again("Error", 1, 9, noon.Add(-time.Minute)).Obj())
	}
	w := newWorld(t, blaming(), interceptor.Funcs{}, append(objects, ready("a"), ready("b"), stored(owner))...)
	for range 2 {
		for _, o := range objects {
			_, err := w.Reconcile(t.Context(), o.(*corev1.Pod).DeepCopy())
			w.ok(err)
		}
		w.Reconciler.Clock.(*testclock.FakePassiveClock).SetTime(noon.Add(4 * time.Minute))
	}
	if isTainted(w.node("a")) {
		t.Error("the node is tainted")
	}
	for _, o := range objects {
		if _, stays := w.pod(o.GetName()); !stays {
			t.Errorf("%s was moved, although Kueue places it there again", o.GetName())
		}
	}
}

// accuse adds complaints about a node, from pods of several workloads.
func (w *world) accuse(node string) {
	for i := range 3 {
		w.complaints.Add(node, fmt.Sprint("p", i), fmt.Sprint("w", i), 3, noon)
	}
}
