package rescheduling

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/holdfast-project/holdfast/rescheduler/api/memory"
	"github.com/holdfast-project/holdfast/rescheduler/internal/settings"
	"github.com/holdfast-project/holdfast/rescheduler/internal/testing/pods"
)

// A container fails its liveness probe every two seconds. The kubelet kills and restarts it in the same sync, so every status reports it
// as running.
func TestPodKilledByLivenessProbeIsMoved(t *testing.T) {
	owner := workload("w")
	owner.Annotations = map[string]string{memory.RetriesAnnotation: "3"}
	pod := pods.Make("p", noon.Add(-time.Hour)).Change(owned(owner)).Again("Error", 143, 0, noon).Obj()
	w := newWorld(t, settings.Default(), interceptor.Funcs{}, stored(owner), pod, ready("a"), ready("b"))
	clock := w.Reconciler.Clock.(*testclock.FakePassiveClock)
	key := reconcile.Request{NamespacedName: client.ObjectKeyFromObject(pod)}
	const every = 2 * time.Second
	for failed := noon; failed.Before(noon.Add(15 * time.Minute)); failed = failed.Add(every) {
		now, exists := w.pod(pod.Name)
		if !exists {
			break
		}
		c := &now.Status.ContainerStatuses[0]
		c.RestartCount++
		c.State.Running.StartedAt, c.LastTerminationState.Terminated.FinishedAt = metav1.NewTime(failed), metav1.NewTime(failed)
		w.ok(w.Client.Status().Update(t.Context(), &now))
		clock.SetTime(failed.Add(time.Second))
		_, err := w.reconcile(t.Context(), key)
		w.ok(err)
	}
	if _, exists := w.pod(pod.Name); exists {
		t.Error("the pod was not moved")
	}
	m := w.remembers(owner)
	if m.Times != 1 || m.Entries[0].Class != "CrashLoopBackOff" || m.Entries[0].Node != "a" {
		t.Errorf("the memory is %+v", m)
	}
	if after := clock.Now().Sub(noon); after < 10*time.Minute || after > 11*time.Minute {
		t.Errorf("it was moved after %s", after)
	}
}
