package rescheduling

import (
	"context"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/holdfast-project/holdfast/rescheduler/api/memory"
	"github.com/holdfast-project/holdfast/rescheduler/internal/settings"
	"github.com/holdfast-project/holdfast/rescheduler/internal/testing/pods"
	"github.com/holdfast-project/holdfast/shared/bootstrap/requeue"
)

// rejected changes the pod to one rejected by its kubelet, for example because of a forbidden sysctl.
func rejected(pod *corev1.Pod) {
	pod.Status = corev1.PodStatus{Phase: corev1.PodFailed, Reason: "SysctlForbidden", StartTime: &pod.CreationTimestamp}
}

// requests collects what a watch enqueues.
type requests struct {
	requeue.Queue
	keys []client.ObjectKey
}

func (r *requests) Add(request reconcile.Request) { r.keys = append(r.keys, request.NamespacedName) }

// replacement changes the pod to its replacement, which has the same name.
func replacement(pod *corev1.Pod) {
	pod.UID, pod.Spec.NodeName, pod.Status = "next", "", corev1.PodStatus{}
}

// terminating changes the pod to a failed pod as it appears in the cache between its deletion and its removal: for a moment, or for as
// long as a finalizer keeps it.
func terminating(pod *corev1.Pod) {
	pod.DeletionTimestamp, pod.Finalizers = &pod.CreationTimestamp, []string{"batch.kubernetes.io/job-tracking"}
}

// A StatefulSet deletes a failed pod and reuses its name before the failure is reconciled, and a Job is deleted together with its pods.
func TestFailureOfDeletedPodIsRecorded(t *testing.T) {
	none := func(*corev1.Pod) {}
	for name, c := range map[string]struct {
		change  func(*corev1.Pod)
		cached  func(*corev1.Pod) // what the cache shows for the pod before the failure is reconciled
		refusal error             // error of the first write
		times   int
	}{
		"replaced":    {none, replacement, nil, 1},
		"terminating": {none, terminating, nil, 1},
		"a write that fails is repeated for a replaced pod":    {none, replacement, errors.New("unavailable"), 1},
		"a write that fails is repeated for a terminating pod": {none, terminating, errors.New("unavailable"), 1},
		"deleted before it failed":                             {terminating, replacement, nil, 0},
		"without a node":                                       {func(p *corev1.Pod) { p.Spec.NodeName = "" }, replacement, nil, 0},
		"bare":                                                 {func(p *corev1.Pod) { p.OwnerReferences = nil }, replacement, nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			set := workload("set")
			set.Annotations = map[string]string{memory.RetriesAnnotation: "3"}
			failed := pods.Make("set-0", noon).Change(owned(set)).Change(rejected).Change(c.change).Obj()
			failed.UID = "failed"
			cached := failed.DeepCopy()
			c.cached(cached)
			refusal := c.refusal
			w := newWorld(t, settings.Default(), interceptor.Funcs{Patch: func(ctx context.Context, under client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
				if err := refusal; err != nil {
					refusal = nil
					return err
				}
				return under.Patch(ctx, o, p, opts...)
			}}, stored(set), cached, ready("a"), ready("b"))

			var enqueued requests
			w.watchPods().Update(t.Context(), event.UpdateEvent{ObjectNew: failed}, &enqueued)
			if len(enqueued.keys) != 1 {
				t.Fatalf("enqueued: %v", enqueued.keys)
			}
			for range 2 {
				_, err := w.reconcile(t.Context(), reconcile.Request{NamespacedName: enqueued.keys[0]})
				if err != nil && c.refusal == nil {
					t.Fatal(err)
				}
			}
			if m := w.remembers(set); m.Times != c.times {
				t.Errorf("the memory is %+v", m)
			}
			w.failed.Range(func(key, _ any) bool {
				t.Errorf("still recorded: %v", key)
				return true
			})
		})
	}
}

// The pod fails while a reconcile that has read its earlier state is in progress.
func TestFailureDuringReconcileIsKept(t *testing.T) {
	set := workload("set")
	set.Annotations = map[string]string{memory.RetriesAnnotation: "3"}
	before := pods.Make("set-0", noon).Change(owned(set)).Obj()
	before.UID = "failed"
	failed := pods.Make("set-0", noon).Change(owned(set)).Change(rejected).Obj()
	failed.UID = "failed"
	w := newWorld(t, settings.Default(), interceptor.Funcs{}, stored(set), before, ready("a"), ready("b"))
	key := reconcile.Request{NamespacedName: client.ObjectKeyFromObject(failed)}
	w.watchPods().Update(t.Context(), event.UpdateEvent{ObjectNew: failed}, &requests{})
	for range 2 {
		_, err := w.reconcile(t.Context(), key)
		w.ok(err)
		w.ok(client.IgnoreNotFound(w.Client.Delete(t.Context(), before.DeepCopy())))
	}
	if m := w.remembers(set); m.Times != 1 {
		t.Errorf("the memory is %+v", m)
	}
}
