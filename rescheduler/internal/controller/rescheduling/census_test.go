package rescheduling

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/holdfast-project/holdfast/rescheduler/api/memory"
	"github.com/holdfast-project/holdfast/rescheduler/internal/settings"
	"github.com/holdfast-project/holdfast/rescheduler/internal/testing/pods"
)

// A thousand pods of one workload need information about their siblings, which are counted once, not once for
// each pod.
func TestPodsOfWorkloadAreCountedOnce(t *testing.T) {
	owner := workload("w")
	owner.Annotations = map[string]string{memory.RetriesAnnotation: "3"}
	objects := []client.Object{stored(owner), ready("a"), ready("b"), ready("c")}
	var failing []*corev1.Pod
	for i := range 200 {
		pod := pods.Make(fmt.Sprint("p", i), noon.Add(-time.Hour)).On([]string{"a", "b", "c"}[i%3]).Change(owned(owner)).
			Change(func(p *corev1.Pod) { p.Labels["pod-template-hash"] = "v1" }).Loops("OOMKilled", 137, 5, noon.Add(-time.Minute)).Obj()
		failing = append(failing, pod)
		objects = append(objects, pod)
	}
	lists := 0
	w := newWorld(t, settings.Default(), interceptor.Funcs{List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
		if _, ofPods := list.(*corev1.PodList); ofPods {
			lists++
		}
		return c.List(ctx, list, opts...)
	}}, objects...)
	for _, pod := range failing {
		_, err := w.Reconcile(t.Context(), pod)
		w.ok(err)
	}
	if lists > 2 { // one for the census, and one for the unbound pods when the first failure is written
		t.Errorf("the pods of the workload were listed %d times for %d decisions", lists, len(failing))
	}
}

// If a pod's workload is locked, the reconcile returns immediately, and the pod is reconciled again when the lock is
// released.
func TestLockedWorkloadBlocksNoWorker(t *testing.T) {
	owner := workload("w")
	owner.Annotations = map[string]string{memory.RetriesAnnotation: "3"}
	pod := pods.Make("p", noon.Add(-time.Hour)).Change(owned(owner)).Loops("OOMKilled", 137, 5, noon.Add(-time.Minute)).Obj()
	w := newWorld(t, settings.Default(), interceptor.Funcs{}, stored(owner), pod, ready("a"), ready("b"))
	unlock, locked := w.lock(w.of(pods.Make("other", noon).Change(owned(owner)).Obj(), w.known[owner.UID]))
	if !locked {
		t.Fatal("it is not locked")
	}
	result, err := w.Reconcile(t.Context(), pod)
	w.ok(err)
	if result.RequeueAfter != contended {
		t.Errorf("requeued after %s", result.RequeueAfter)
	}
	unlock()
	select {
	case e := <-w.woken:
		if e.Object.GetName() != "p" {
			t.Errorf("%s was enqueued", e.Object.GetName())
		}
	default:
		t.Error("nothing was enqueued")
	}
}
