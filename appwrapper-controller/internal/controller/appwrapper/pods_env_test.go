//go:build envtest

package appwrapper

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-project/holdfast/appwrapper-controller/api/v1beta2"
	. "github.com/holdfast-project/holdfast/appwrapper-controller/internal/testing/wrappers"
)

// A single cache holds stripped copies of all workloads' pods. A wrapped Pod must not start a second cache with the
// full objects.
func TestWrappedPodUsesThePodCache(t *testing.T) {
	w := newWorld(t)
	w.create(MakeAppWrapper("a").Pod("p"))
	w.awaitPhase("a", v1beta2.Running)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: w.Namespace}}
	w.podPhase(pod, corev1.PodRunning)
	w.awaitCondition("a", "PodsReady=True/SufficientPodsReady")
	w.reconciler.kinds.mu.Lock()
	for kind := range w.reconciler.kinds.watched {
		t.Errorf("a second cache holds %s", kind)
	}
	w.reconciler.kinds.mu.Unlock()
	w.podPhase(pod, corev1.PodSucceeded)
	w.awaitPhase("a", v1beta2.Succeeded)
}

// Sixty pods become ready one by one. The status is written when the attempt starts and when the last pod starts
// running.
func TestReadyPodCausesNoStatusWrite(t *testing.T) {
	w := newWorld(t)
	w.create(MakeAppWrapper("a").Job("j", 60))
	w.awaitPhase("a", v1beta2.Running)
	job := w.job("j")
	for i := range 60 {
		w.pods(job, corev1.PodRunning, fmt.Sprint("p-", i))
	}
	w.awaitCondition("a", "PodsReady=True/SufficientPodsReady")
	patches := 0
	for _, call := range w.Calls() {
		if call == "patch status of AppWrapper" {
			patches++
		}
	}
	t.Logf("%d patches of the status for 60 pods", patches)
	if patches > 8 {
		t.Errorf("%d patches", patches)
	}
}
