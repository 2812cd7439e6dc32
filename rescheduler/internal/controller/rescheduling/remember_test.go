package rescheduling

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/holdfast-project/holdfast/rescheduler/api/memory"
	"github.com/holdfast-project/holdfast/rescheduler/internal/owners"
	"github.com/holdfast-project/holdfast/rescheduler/internal/policy"
	"github.com/holdfast-project/holdfast/rescheduler/internal/settings"
	"github.com/holdfast-project/holdfast/rescheduler/internal/testing/pods"
)

// The owner may be of a kind that the manager may read, and not write: then somebody has to be told, and the pod stays.
func TestAnOwnerThatMayNotBeWrittenIsSaid(t *testing.T) {
	pod := pods.Make("p", noon).Obj()
	w := newWorld(t, settings.Default(), interceptor.Funcs{Patch: func(context.Context, client.WithWatch, client.Object, client.Patch, ...client.PatchOption) error {
		return apierrors.NewForbidden(schema.GroupResource{Resource: "gadgets"}, "w", nil)
	}}, pod)
	s := w.of(pod, workload("w"))
	result, err := w.carryOut(t.Context(), s, matched("OOMKilled"), &policy.Decision{Act: policy.Evict, Reason: policy.Moved, Memory: avoiding("a"), Learned: true})
	if err != nil || result.RequeueAfter <= 0 {
		t.Errorf("again after %s, %v", result.RequeueAfter, err)
	}
	if w.heard["*v1.Pod"] != 1 {
		t.Errorf("events: %v", w.heard)
	}
	if _, stays := w.pod("p"); !stays {
		t.Error("it is moved, and nobody remembers from where")
	}
}

// An AppWrapper may hold several Deployments, each with a template of its own: the youngest of all pods says nothing about the others' templates.
func TestAnotherTemplateBeginsAnewWhereThereIsOne(t *testing.T) {
	set, deployment, wrapper := workload("rs"), workload("d"), workload("aw")
	hashed := func(key, hash string) func(*corev1.Pod) { return func(p *corev1.Pod) { p.Labels[key] = hash } }
	for name, c := range map[string]struct {
		key   string
		chain owners.Chain
		anew  bool
	}{
		"of a Deployment":                         {"pod-template-hash", owners.Chain{set, deployment}, true},
		"of a ReplicaSet":                         {"pod-template-hash", owners.Chain{set}, true},
		"of a StatefulSet":                        {"controller-revision-hash", owners.Chain{set}, true},
		"of a Deployment in an AppWrapper":        {"pod-template-hash", owners.Chain{set, deployment, wrapper}, false},
		"of a StatefulSet in a LeaderWorkerSet":   {"controller-revision-hash", owners.Chain{set, wrapper}, false},
		"of pods whose controller keeps no count": {"other", owners.Chain{set}, false},
	} {
		t.Run(name, func(t *testing.T) {
			pod := pods.Make("p", noon).Change(owned(set)).Change(hashed(c.key, "v1")).Obj()
			young := pods.Make("q", noon.Add(time.Minute)).Change(owned(set)).Change(hashed(c.key, "v2")).Obj()
			w := newWorld(t, settings.Default(), interceptor.Funcs{}, pod, young)
			s := w.of(pod, c.chain.Root())
			s.chain = c.chain
			w.family.add(c.chain.Root().UID, set.UID)
			s.memory = memory.Memory{Times: 2, Template: "v1"}
			w.ok(w.ofTemplate(t.Context(), s))
			if anew := s.memory.Times == 0; anew != c.anew {
				t.Errorf("the memory is %+v", s.memory)
			}
		})
	}
}
