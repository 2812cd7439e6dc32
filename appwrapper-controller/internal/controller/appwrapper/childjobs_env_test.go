//go:build envtest

package appwrapper

import (
	"fmt"
	"maps"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/appwrapper-controller/api/v1beta2"
	. "github.com/holdfast-project/holdfast/appwrapper-controller/internal/testing/wrappers"
	"github.com/holdfast-project/holdfast/shared/testing/sandbox"
)

const jobSetInWaves = `
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: js}
spec:
  replicatedJobs:
  - name: w
    template: {spec: {parallelism: 2, completions: 4, completionMode: Indexed, template: {spec: {restartPolicy: Never, containers: [{name: worker, image: worker-image}]}}}}`

// childOf creates the JobSet's Job with the given number of succeeded pods.
func (w *world) childOf(js *unstructured.Unstructured, succeeded int32) {
	w.Helper()
	template, _, _ := unstructured.NestedMap(w.replicatedJob(), "template", "spec", "template")
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{
		Name: "js-w-0", Namespace: w.Namespace, OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(js, js.GroupVersionKind())},
		Labels: map[string]string{jobSetName: "js"},
	}}
	job.Spec.Parallelism, job.Spec.Completions = new(int32(2)), new(int32(4))
	labels, _, _ := unstructured.NestedStringMap(template, "metadata", "labels")
	job.Spec.Template.Labels = maps.Clone(labels)
	maps.Copy(job.Spec.Template.Labels, job.Labels)
	job.Spec.Template.Spec = corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "worker", Image: "worker-image"}}}
	w.OK(w.Create(w.Context(), job))
	job.Status.StartTime, job.Status.Succeeded = new(metav1.Now()), succeeded
	w.OK(w.Status().Update(w.Context(), job))
}

// inWaves creates a workload whose JobSet has completed its first wave: the pods of the wave have succeeded, and no pod
// is running.
func (w *world) inWaves(succeeded int32) {
	w.Helper()
	w.create(MakeAppWrapper("a").Component(jobSetInWaves).Annotation(v1beta2.WarmupGracePeriodKey, "1s").Annotation(v1beta2.AdmissionGracePeriodKey, "1s"))
	w.awaitPhase("a", v1beta2.Running)
	w.childOf(w.jobSet(), succeeded)
	for _, pod := range w.pods(w.job("js-w-0"), corev1.PodRunning, "p0", "p1") {
		w.podPhase(pod, corev1.PodSucceeded)
	}
	w.awaitCondition("a", "PodsReady=True/SufficientPodsReady")
}

// The JobSet status reports a Job as ready when the pods of one wave have succeeded.
func TestPodsOfEachJobSetWaveMustRun(t *testing.T) {
	w := newWorld(t)
	w.inWaves(2)
	w.pods(w.job("js-w-0"), corev1.PodPending, "p2", "p3")
	w.awaitCondition("a", "Unhealthy=True/InsufficientPodsReady")
	w.awaitPhase("a", v1beta2.Resetting)
}

// Succeeded pods may be deleted before their Job completes. The Job status still counts them. The controller is
// restarted, so that it cannot have observed the pods.
func TestDeletedSucceededPodsCount(t *testing.T) {
	w := newWorld(t)
	w.inWaves(4)
	w.Stop()
	w.OK(w.DeleteAllOf(w.Context(), &corev1.Pod{}, client.InNamespace(w.Namespace), client.GracePeriodSeconds(0)))
	w.start()
	for until := time.Now().Add(2 * time.Second); time.Now().Before(until); { // longer than the sum of all grace periods
		w.Always(func() string {
			aw := w.get("a")
			conditions := []string{sandbox.ConditionOf(aw.Status.Conditions, "PodsReady"), sandbox.ConditionOf(aw.Status.Conditions, "Unhealthy")}
			return sandbox.Differs("state", "Running 0 [PodsReady=True/SufficientPodsReady Unhealthy=False/FoundNoFailedPods]",
				fmt.Sprint(aw.Status.Phase, " ", aw.Status.Retries, " ", conditions))
		})
	}
}
