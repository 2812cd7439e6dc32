package rescheduling

import (
	"context"
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/holdfast-project/holdfast/rescheduler/api/memory"
	"github.com/holdfast-project/holdfast/rescheduler/internal/policy"
	"github.com/holdfast-project/holdfast/rescheduler/internal/settings"
	"github.com/holdfast-project/holdfast/rescheduler/internal/testing/pods"
)

func byPolicy() settings.Rescheduling {
	config := settings.Default()
	config.Admission.Way = settings.Policy
	return config
}

func (w *world) publishedNow() map[string]string {
	w.Helper()
	var there corev1.ConfigMap
	err := w.client.Get(w.Context(), client.ObjectKey{Namespace: "default", Name: ExclusionsMap}, &there)
	w.ok(client.IgnoreNotFound(err))
	return there.Data
}

func avoiding(node string) memory.Memory {
	return memory.Memory{Entries: []memory.Entry{{Node: node, Class: "c", Last: noon, Expires: noon.Add(time.Hour)}}}
}

// Workloads of one namespace share a ConfigMap: one that came in between is no reason to leave the other's exclusions out.
func TestExclusionsArePublishedInSpiteOfOthers(t *testing.T) {
	conflicts := 2
	w := newWorld(t, byPolicy(), interceptor.Funcs{Patch: func(ctx context.Context, c client.WithWatch, o client.Object, patch client.Patch, opts ...client.PatchOption) error {
		if conflicts--; conflicts >= 0 {
			return apierrors.NewConflict(schema.GroupResource{Resource: "configmaps"}, o.GetName(), nil)
		}
		return c.Patch(ctx, o, patch, opts...)
	}}, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: ExclusionsMap}, Data: map[string]string{"theirs": `["z"]`}})
	s := w.of(pods.Make("p", noon).Obj(), workload("w"))
	s.memory = avoiding("a")
	w.ok(w.publish(t.Context(), s))
	if got := w.publishedNow(); got["uid-w"] != `["a"]` || got["theirs"] == "" {
		t.Errorf("published %v", got)
	}
}

// The process ended when the memory was written, and nothing was published: the next one evicts only when it has.
func TestWhatIsWrittenIsPublishedBeforeThePodGoes(t *testing.T) {
	w := newWorld(t, byPolicy(), interceptor.Funcs{}, pods.Make("p", noon).Obj())
	s := w.of(pods.Make("p", noon).Obj(), workload("w"))
	s.memory = avoiding("a")
	_, err := w.carryOut(t.Context(), s, matched("OOMKilled"), &policy.Decision{Act: policy.Evict, Reason: policy.Moved, Memory: s.memory})
	w.ok(err)
	if got := w.publishedNow(); got["uid-w"] != `["a"]` {
		t.Errorf("published %v", got)
	}
}

// Jobs come and go, and exclusions end without anybody to see it: no key stays for ever.
func TestWhatIsOverIsNotPublishedForEver(t *testing.T) {
	owner := workload("w")
	over := memory.Memory{Entries: []memory.Entry{{Node: "a", Class: "c", Last: noon.Add(-time.Hour), Expires: noon}}}
	owner.Annotations = over.Annotations(noon.Add(-time.Minute))
	owner.Annotations[memory.RetriesAnnotation] = "3"
	pod := pods.Make("p", noon).Change(owned(owner)).Obj()
	w := newWorld(t, byPolicy(), interceptor.Funcs{}, pod, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: ExclusionsMap},
		Data:       map[string]string{"uid-w": `["a"]`, "uid-of-a-job-that-is-gone": `["b"]`, "uid-w.7": `["a"]`},
	})
	w.known[owner.UID] = owner
	w.ok(w.tidy(t.Context(), "default"))
	if got := w.publishedNow(); len(got) != 0 {
		t.Errorf("published %v", got)
	}
}

// A JobSet that is recreated has other Jobs: their pods, but for the first, find what is remembered.
func TestANewControllerIsPublishedWhenItsFirstPodIsSeen(t *testing.T) {
	owner := workload("w")
	owner.Annotations = avoiding("a").Annotations(noon)
	owner.Annotations[memory.RetriesAnnotation] = "3"
	pod := pods.Make("p", noon).Change(owned(owner)).Obj()
	w := newWorld(t, byPolicy(), interceptor.Funcs{}, pod, ready("a"))
	w.known[owner.UID] = owner
	for range 2 {
		_, err := w.Reconcile(t.Context(), pod)
		w.ok(err)
	}
	if got := w.publishedNow(); got["uid-w"] != `["a"]` {
		t.Errorf("published %v", got)
	}
}

// The API server refused the first pass of a new controller: the next one publishes.
func TestANewControllerIsPublishedAlsoAfterAFailure(t *testing.T) {
	owner := workload("w")
	owner.Annotations = avoiding("a").Annotations(noon)
	owner.Annotations[memory.RetriesAnnotation] = "3"
	pod := pods.Make("p", noon).Change(owned(owner)).Obj()
	fails := true
	w := newWorld(t, byPolicy(), interceptor.Funcs{Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
		if _, exclusions := o.(*corev1.ConfigMap); exclusions && fails {
			fails = false
			return apierrors.NewInternalError(errors.New("the store is busy"))
		}
		return c.Create(ctx, o, opts...)
	}}, pod, ready("a"))
	w.known[owner.UID] = owner
	if _, err := w.Reconcile(t.Context(), pod); err == nil {
		t.Fatal("the failure is not reported")
	}
	_, err := w.Reconcile(t.Context(), pod)
	w.ok(err)
	if got := w.publishedNow(); got["uid-w"] != `["a"]` {
		t.Errorf("published %v", got)
	}
}
