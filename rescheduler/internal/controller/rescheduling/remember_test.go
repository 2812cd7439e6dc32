package rescheduling

import (
	"context"
	"slices"
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

// The manager may read the owner but not write it. The pod is not moved, and an event says why.
func TestReadOnlyOwnerIsReported(t *testing.T) {
	pod := pods.Make("p", noon).Obj()
	w := newWorld(t, settings.Default(), interceptor.Funcs{Patch: func(context.Context, client.WithWatch, client.Object, client.Patch, ...client.PatchOption) error {
		return apierrors.NewForbidden(schema.GroupResource{Resource: "gadgets"}, "w", nil)
	}}, pod)
	s := w.of(pod, workload("w"))
	result, err := w.carryOut(t.Context(), s, matched("OOMKilled"), &policy.Decision{Act: policy.Evict, Reason: policy.Moved, Memory: avoiding("a"), Learned: true})
	if err != nil || result.RequeueAfter <= 0 {
		t.Errorf("requeued after %s, error %v", result.RequeueAfter, err)
	}
	if w.heard["*v1.Pod"] != 1 {
		t.Errorf("events: %v", w.heard)
	}
	if _, stays := w.pod("p"); !stays {
		t.Error("it was moved without a record of the node")
	}
}

// An AppWrapper may contain several Deployments with different templates. The most recent pod says nothing about the templates of the other
// Deployments.
func TestNewTemplateOfOneDeploymentStartsEmpty(t *testing.T) {
	set, deployment, wrapper := workload("rs"), workload("d"), workload("aw")
	hashed := func(key, hash string) func(*corev1.Pod) { return func(p *corev1.Pod) { p.Labels[key] = hash } }
	for name, c := range map[string]struct {
		key   string
		chain owners.Chain
		anew  bool
	}{
		"of a Deployment":                       {"pod-template-hash", owners.Chain{set, deployment}, true},
		"of a ReplicaSet":                       {"pod-template-hash", owners.Chain{set}, true},
		"of a StatefulSet":                      {"controller-revision-hash", owners.Chain{set}, true},
		"of a Deployment in an AppWrapper":      {"pod-template-hash", owners.Chain{set, deployment, wrapper}, false},
		"of a StatefulSet in a LeaderWorkerSet": {"controller-revision-hash", owners.Chain{set, wrapper}, false},
		"controller without revisions":          {"other", owners.Chain{set}, false},
	} {
		t.Run(name, func(t *testing.T) {
			pod := pods.Make("p", noon).Change(owned(set)).Change(hashed(c.key, "v1")).Obj()
			young := pods.Make("q", noon.Add(time.Minute)).Change(owned(set)).Change(hashed(c.key, "v2")).Obj()
			w := newWorld(t, settings.Default(), interceptor.Funcs{}, pod, young)
			s := w.of(young, c.chain.Root())
			s.chain = c.chain
			w.ownership.add(c.chain.Root().UID, set.UID)
			s.memory = memory.Memory{Times: 2, Template: "v1"}
			_, err := w.ofTemplate(t.Context(), s)
			w.ok(err)
			if anew := s.memory.Times == 0; anew != c.anew {
				t.Errorf("the memory is %+v", s.memory)
			}
		})
	}
}

// revision sets the revision of a StatefulSet's pod.
func revision(name, hash string) *pods.Pod {
	return pods.Make(name, noon).Change(owned(workload("set"))).Change(func(p *corev1.Pod) { p.Labels["controller-revision-hash"] = hash })
}

// A StatefulSet with a partition permanently runs two revisions at the same time.
func TestRevisionKeepsMemoryOfOtherRevision(t *testing.T) {
	old, young := revision("w-0", "v1").Obj(), revision("w-1", "v2").Obj()
	for name, c := range map[string]struct {
		known, beside string
		living        []*corev1.Pod
		of            *corev1.Pod
		anew          bool
	}{
		"old revision in memory, new one fails":             {"v1", "v2", []*corev1.Pod{old, young}, young, false},
		"new revision in memory, old one fails":             {"v2", "v1", []*corev1.Pod{old, young}, old, false},
		"pod of the other revision is missing for a moment": {"v1", "v2", []*corev1.Pod{young}, young, false},
		"old pod fails alongside a new one":                 {"v1", "", []*corev1.Pod{old, young}, old, false},
		"template newer than the memory":                    {"v1", "", []*corev1.Pod{old, young}, young, true},
		"template that replaced those in memory":            {"v0", "v9", []*corev1.Pod{young}, young, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, settings.Default(), interceptor.Funcs{})
			for _, pod := range c.living {
				w.ok(w.Client.Create(t.Context(), pod.DeepCopy()))
			}
			s := w.of(c.of, workload("set"))
			s.memory = memory.Memory{Times: 2, Template: c.known, SharedWith: []string{c.beside}}
			_, err := w.ofTemplate(t.Context(), s)
			w.ok(err)
			if anew := s.memory.Times == 0; anew != c.anew {
				t.Errorf("the memory is %+v", s.memory)
			}
		})
	}
}

// Pods of both revisions fail in turn. The history of one is preserved when the other fails, and a pod that has ended does not count as a
// revision.
func TestPermanentRevisionsShareMemory(t *testing.T) {
	old, young := revision("w-0", "v1").Obj(), revision("w-1", "v2").Obj()
	w := newWorld(t, settings.Default(), interceptor.Funcs{}, old, young, revision("w-2", "v0").Rejected("Evicted", "").Obj())
	s := w.of(old, workload("set"))
	s.memory = memory.Memory{Times: 3, Template: "v0"}
	for turn, pod := range []*corev1.Pod{old, young, old, young} {
		s.pod = pod
		_, err := w.ofTemplate(t.Context(), s)
		w.ok(err)
		if s.memory.Times != turn || s.memory.Template != "v1" || !slices.Equal(s.memory.SharedWith, []string{"v2"}) {
			t.Fatalf("turn %d: the memory is %+v", turn, s.memory)
		}
		s.memory.Times++
	}
}

// A pod that failed with an old template may remain for days. It must not erase the counted moves of the current template.
func TestPodOfOldTemplateErasesNothing(t *testing.T) {
	leftOver, now := revision("w-9", "v1").Rejected("UnexpectedAdmissionError", "").Obj(), revision("w-0", "v2").Obj()
	owner := workload("set")
	used := memory.Memory{Times: 3, Template: "v2", Exhausted: true}
	owner.Annotations = used.Annotations(noon)
	owner.Annotations[memory.RetriesAnnotation] = "3"
	w := newWorld(t, settings.Default(), interceptor.Funcs{}, leftOver, now, ready("a"), ready("b"), stored(owner))
	for _, pod := range []*corev1.Pod{now, leftOver} {
		_, err := w.Reconcile(t.Context(), pod)
		w.ok(err)
	}
	if m := w.remembers(owner); m.Times != 3 || m.Template != "v2" || !m.Exhausted {
		t.Errorf("the memory is %+v", m)
	}
}
