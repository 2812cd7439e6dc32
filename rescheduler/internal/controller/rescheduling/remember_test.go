package rescheduling

import (
	"context"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

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
