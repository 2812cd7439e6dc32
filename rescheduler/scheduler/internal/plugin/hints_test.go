package plugin

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
)

func on(node string) *corev1.Pod {
	pod := makePod("other")
	pod.Spec.NodeName = node
	return pod
}

// TestHints checks the queueing hints for a pod that avoids nodes a and b and fits nowhere.
func TestHints(t *testing.T) {
	pod := func(uid types.UID, annotation ...string) *corev1.Pod { return makePod(uid, annotation...) }
	for name, c := range map[string]struct {
		hint         func(*Plugin) fwk.QueueingHintFn
		old, current any
		retried      bool
	}{
		"its annotation allows a node":             {podUpdate, pod("pod", `["a","b"]`), pod("pod", `["a"]`), true},
		"its annotation is removed":                {podUpdate, pod("pod", `["a","b"]`), pod("pod"), true},
		"its annotation becomes invalid":           {podUpdate, pod("pod", `["a","b"]`), pod("pod", `[`), true},
		"its annotation excludes another node":     {podUpdate, pod("pod", `["a","b"]`), pod("pod", `["a","b","c"]`), false},
		"the order in its annotation changes":      {podUpdate, pod("pod", `["a","b"]`), pod("pod", `["b","a"]`), false},
		"the annotation of another pod is removed": {podUpdate, pod("other", `["a","b"]`), pod("other"), false},
		"a pod on an excluded node is deleted":     {podDelete, on("a"), nil, true},
		"a pod on another node is deleted":         {podDelete, on("c"), nil, false},
		"the deletion event of a pod was missed":   {podDelete, cache.DeletedFinalStateUnknown{Obj: on("b")}, nil, true},
		"an excluded node changes":                 {nodeUpdate, makeNode("a"), makeNode("a"), true},
		"another node changes":                     {nodeUpdate, makeNode("c"), makeNode("c"), false},
	} {
		t.Run(name, func(t *testing.T) {
			hint, err := c.hint(newWorld(t).Plugin)(klog.Background(), pod("pod", `["a","b"]`), c.old, c.current)
			if err != nil {
				t.Fatal(err)
			}
			if got := hint == fwk.Queue; got != c.retried {
				t.Errorf("retried: %v", got)
			}
		})
	}
}

func podUpdate(p *Plugin) fwk.QueueingHintFn  { return hint(p.afterPodUpdate) }
func podDelete(p *Plugin) fwk.QueueingHintFn  { return hint(p.afterPodDelete) }
func nodeUpdate(p *Plugin) fwk.QueueingHintFn { return hint(p.afterNodeUpdate) }

func TestHintForAnotherTypeIsAnError(t *testing.T) {
	w := newWorld(t)
	events, err := w.EventsToRegister(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, event := range events {
		if event.QueueingHintFn == nil {
			continue
		}
		if hint, err := event.QueueingHintFn(klog.Background(), makePod("pod", `["a"]`), "old", "new"); err == nil || hint != fwk.Queue {
			t.Errorf("%s: %v, %v", event.Event.Label(), hint, err)
		}
	}
}

// Annotation changes arrive as the general update event, which reaches only plugins that have registered all kinds of
// updates.
func TestPodUpdateIsRegistered(t *testing.T) {
	events, err := newWorld(t).EventsToRegister(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, event := range events {
		if event.Event.Resource == fwk.Pod && event.Event.ActionType&fwk.Update == fwk.Update {
			return
		}
	}
	t.Error("a pod whose annotation is removed would wait for five minutes")
}
