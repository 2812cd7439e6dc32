//go:build envtest

package jobset

import (
	"context"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	. "github.com/holdfast-project/holdfast/jobset-controller/internal/testing/wrappers"
)

// stuck makes a restart wait for a terminating pod on the node. The pod never terminates, because no kubelet is
// running.
func (w *world) stuck(js *JobSet, node string) {
	w.Helper()
	w.create(js)
	w.awaitJobs("a-workers-0@0")
	pod := w.builtPod(w.job("a-workers-0"))
	pod.Spec.NodeName = node
	w.OK(w.Create(w.Context(), pod))
	w.OK(w.Delete(w.Context(), pod, client.GracePeriodSeconds(1)))
	w.fail("a-workers-0")
	w.awaitJobs("a-workers-0@0-")
}

func (w *world) podIsThere() bool {
	w.Helper()
	var pod corev1.Pod
	err := w.Get(w.Context(), client.ObjectKey{Namespace: w.Namespace, Name: "a-workers-0-0"}, &pod)
	w.OK(client.IgnoreNotFound(err))
	return !apierrors.IsNotFound(err)
}

func restarting(timeout string) *JobSet {
	js := MakeJobSet("a").Workers(1).MaxRestarts(1)
	if timeout != "" {
		js.Annotation(v1alpha2.StuckPodTimeoutKey, timeout)
	}
	return js
}

func TestStuckPodOnADeletedNodeIsReleased(t *testing.T) {
	w := newWorld(t)
	w.stuck(restarting("1s"), "gone")
	w.Eventually(func() string {
		if w.podIsThere() {
			return "the pod still exists"
		}
		return ""
	})
	w.Eventually(func() string {
		if got := w.eventsWith("StuckPodDeleted"); len(got) != 1 || !strings.Contains(got[0], "its node is gone") {
			return "events: " + strings.Join(got, "\n")
		}
		return ""
	})
}

func TestPodOnALivingNodeIsLeftToItsKubelet(t *testing.T) {
	w := newWorld(t)
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: w.Namespace}}
	w.OK(w.Create(t.Context(), node))
	t.Cleanup(func() { _ = w.Delete(context.Background(), node) })
	w.stuck(restarting("1s"), node.Name)
	w.stays(3 * time.Second)
	node.Spec.Taints = []corev1.Taint{{Key: corev1.TaintNodeOutOfService, Effect: corev1.TaintEffectNoExecute}}
	w.OK(w.Update(t.Context(), node))
	w.Eventually(func() string {
		if w.podIsThere() {
			return "the pod still exists"
		}
		return ""
	})
}

// A silent kubelet counts as evidence only after it has been silent for the whole timeout.
func TestPodOnASilentNodeIsReleasedAfterTheTimeout(t *testing.T) {
	w := newWorld(t)
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: w.Namespace}}
	w.OK(w.Create(t.Context(), node))
	t.Cleanup(func() { _ = w.Delete(context.Background(), node) })
	silent := func(since time.Time) {
		node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionUnknown, Reason: "NodeStatusUnknown", LastTransitionTime: metav1.NewTime(since)}}
		w.OK(w.Status().Update(t.Context(), node))
	}
	silent(time.Now().Add(time.Hour)) // clocks differ: it has been silent for a negative time
	w.stuck(restarting("2s"), node.Name)
	w.stays(4 * time.Second)
	silent(time.Now().Add(-time.Hour))
	w.Eventually(func() string {
		if w.podIsThere() {
			return "the pod still exists"
		}
		return ""
	})
	w.Eventually(func() string {
		if got := w.eventsWith("StuckPodDeleted"); len(got) != 1 || !strings.Contains(got[0], "has not been heard from since") {
			return "events: " + strings.Join(got, "\n")
		}
		return ""
	})
	w.collect("a-workers-0")
	w.awaitJobs("a-workers-0@1")
}

func TestNoPodIsReleasedWithoutATimeout(t *testing.T) {
	w := newWorld(t)
	w.stuck(restarting(""), "gone")
	w.stays(3 * time.Second)
}

// stays checks that the pod is not released within the given time.
func (w *world) stays(d time.Duration) {
	w.Helper()
	for deadline := time.Now().Add(d); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		if !w.podIsThere() {
			w.Fatal("the pod was released")
		}
	}
}
