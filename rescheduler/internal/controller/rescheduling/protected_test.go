package rescheduling

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/holdfast-project/holdfast/rescheduler/api/memory"
	"github.com/holdfast-project/holdfast/rescheduler/internal/settings"
	"github.com/holdfast-project/holdfast/rescheduler/internal/testing/pods"
)

// ownerOf returns an owner of the given kind that requests moves.
func ownerOf(group, kind string) *metav1.PartialObjectMetadata {
	o := workload("o")
	o.SetGroupVersionKind(schema.GroupVersionKind{Group: group, Version: "v1", Kind: kind})
	o.Annotations = map[string]string{memory.RetriesAnnotation: "3"}
	return o
}

// Pods that belong to their node are never moved, even if their owner requests moves or all workloads allow moves by
// default.
func TestPodsBoundToNodeAreIgnored(t *testing.T) {
	asks := func(p *corev1.Pod) { p.Annotations[memory.RetriesAnnotation] = "3" }
	mirrors := func(p *corev1.Pod) { p.Annotations[corev1.MirrorPodAnnotationKey] = "hash" }
	nothing := func(*corev1.Pod) {}
	for name, c := range map[string]struct {
		owner    *metav1.PartialObjectMetadata
		change   func(*corev1.Pod)
		observed bool
	}{
		"pod of a DaemonSet":                    {ownerOf("apps", "DaemonSet"), nothing, false},
		"DaemonSet pod with its own annotation": {ownerOf("apps", "DaemonSet"), asks, false},
		"DaemonSet of another API group":        {ownerOf("apps.kruise.io", "DaemonSet"), nothing, false},
		"mirror pod of a static pod":            {ownerOf("", "Node"), mirrors, false},
		"pod owned by a node":                   {ownerOf("", "Node"), asks, false},
		"mirror pod without owner":              {nil, func(p *corev1.Pod) { asks(p); mirrors(p) }, false},
		"pod of a ReplicaSet":                   {ownerOf("apps", "ReplicaSet"), nothing, true},
		"pod of a StatefulSet":                  {ownerOf("apps", "StatefulSet"), nothing, true},
		"pod of a Job":                          {ownerOf("batch", "Job"), nothing, true},
		"bare pod with annotation":              {nil, asks, true},
	} {
		t.Run(name, func(t *testing.T) {
			for _, defaultRetries := range []int{0, 3} {
				config := settings.Default()
				config.DefaultRetries = defaultRetries
				w := newWorld(t, config, interceptor.Funcs{})
				pod := pods.Make("p", noon)
				if c.owner != nil {
					w.known[c.owner.UID] = c.owner
					pod.Change(owned(c.owner))
				}
				s, err := w.observe(t.Context(), pod.Change(c.change).Obj())
				w.ok(err)
				if observed := s != nil; observed != c.observed {
					t.Errorf("observed: %t, with %d moves by default", observed, defaultRetries)
				}
			}
		})
	}
}

func TestWhyAPodIsNeverMoved(t *testing.T) {
	for name, c := range map[string]struct {
		change    func(*corev1.Pod)
		protected bool
	}{
		"system-node-critical":    {func(p *corev1.Pod) { p.Spec.PriorityClassName = "system-node-critical" }, true},
		"system-cluster-critical": {func(p *corev1.Pod) { p.Spec.PriorityClassName = "system-cluster-critical" }, true},
		"other priority class":    {func(p *corev1.Pod) { p.Spec.PriorityClassName = "high" }, false},
		"annotation":              {func(p *corev1.Pod) { p.Annotations[preferNoEviction] = "" }, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, settings.Default(), interceptor.Funcs{})
			f := podFacts(w.of(pods.Make("p", noon).Change(c.change).Obj(), workload("w")))
			if (f.Protected != "") != c.protected {
				t.Errorf("protected: %q", f.Protected)
			}
		})
	}
}
