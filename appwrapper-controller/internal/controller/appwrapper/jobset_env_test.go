//go:build envtest

package appwrapper

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/appwrapper-controller/api/v1beta2"
	. "github.com/holdfast-project/holdfast/appwrapper-controller/internal/testing/wrappers"
	"github.com/holdfast-project/holdfast/shared/recovering"
	"github.com/holdfast-project/holdfast/shared/testing/sandbox"
)

// jobSetInPlace is a JobSet with two workers that restart in place. The test stands in for its controller, its
// orchestrator and the kubelet.
const jobSetInPlace = `
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: js, annotations: {alpha.jobset.sigs.k8s.io/inplace-timeout: 60s}}
spec:
  failurePolicy: {maxRestarts: 2}
  replicatedJobs:
  - name: w
    template: {spec: {parallelism: 2, completions: 2, completionMode: Indexed, template: {spec: {restartPolicy: OnFailure, containers: [{name: worker, image: worker-image}]}}}}`

func (w *world) jobSet() *unstructured.Unstructured {
	w.Helper()
	js := &unstructured.Unstructured{}
	js.SetAPIVersion("jobset.x-k8s.io/v1alpha2")
	js.SetKind("JobSet")
	w.Eventually(func() string {
		if err := w.Get(w.Context(), client.ObjectKey{Namespace: w.Namespace, Name: "js"}, js); err != nil {
			return err.Error()
		}
		return ""
	})
	return js
}

// workers creates the running pods of the JobSet's Job. epoch counts the recreations of the Job.
func (w *world) workers(epoch int) {
	w.Helper()
	labels, _, _ := unstructured.NestedStringMap(w.replicatedJob(), "template", "spec", "template", "metadata", "labels")
	yes := true
	for i := range 2 {
		index := fmt.Sprint(i)
		podLabels := map[string]string{"batch.kubernetes.io/job-completion-index": index}
		for k, v := range labels {
			podLabels[k] = v
		}
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Name: fmt.Sprintf("js-w-0-%d-%d", i, epoch), Namespace: w.Namespace, Labels: podLabels,
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "batch/v1", Kind: "Job", Name: "js-w-0", UID: types.UID(fmt.Sprint("job-", epoch)), Controller: &yes,
			}},
		}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "worker", Image: "worker-image"}}}}
		w.OK(w.Create(w.Context(), pod))
		w.podPhase(pod, corev1.PodRunning)
	}
}

func (w *world) replicatedJob() map[string]any {
	w.Helper()
	jobs, _, _ := unstructured.NestedSlice(w.jobSet().Object, "spec", "replicatedJobs")
	return jobs[0].(map[string]any)
}

func (w *world) worker(i, epoch int) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("js-w-0-%d-%d", i, epoch), Namespace: w.Namespace}}
}

// says sets the annotation that the JobSet's own controllers use to announce that they are recovering it. Level 0
// removes it.
func (w *world) says(level int) {
	w.Helper()
	js := w.jobSet()
	annotations := js.GetAnnotations()
	delete(annotations, recovering.Annotation)
	if level > 0 {
		annotations[recovering.Annotation] = recovering.State{Level: level, Reason: "played", Deadline: time.Now().Add(time.Hour)}.Format()
	}
	js.SetAnnotations(annotations)
	w.OK(w.Update(w.Context(), js))
}

func (w *world) jobSetFails() {
	w.Helper()
	js := w.jobSet()
	condition := map[string]any{
		"type": "Failed", "status": "True", "reason": "ReachedMaxRestarts", "message": "played", "lastTransitionTime": metav1.Now().Format(time.RFC3339),
	}
	w.OK(unstructured.SetNestedSlice(js.Object, []any{condition}, "status", "conditions"))
	w.OK(w.Status().Update(w.Context(), js))
}

// awaitNewJobSet waits until the JobSet has been recreated and the AppWrapper is running.
func (w *world) awaitNewJobSet(old types.UID) {
	w.Helper()
	w.Eventually(func() string {
		if w.jobSet().GetUID() == old {
			return "the JobSet has not been recreated"
		}
		return ""
	})
	w.awaitPhase("a", v1beta2.Running)
}

func (w *world) runningJobSet(annotations ...string) {
	w.Helper()
	aw := MakeAppWrapper("a").Component(jobSetInPlace)
	for i := 0; i < len(annotations); i += 2 {
		aw.Annotation(annotations[i], annotations[i+1])
	}
	w.create(aw)
	w.awaitPhase("a", v1beta2.Running)
	w.workers(1)
	w.awaitCondition("a", "PodsReady=True/SufficientPodsReady")
}

// impatient returns annotations that disable the grace period after a failure, so that any unhealthy state has an
// immediate effect.
func impatient() []string {
	return []string{v1beta2.FailureGracePeriodKey, "0s", v1beta2.RetryLimitKey, "1"}
}

func (w *world) staysAsItIs() {
	w.Helper()
	w.Always(func() string {
		aw := w.get("a")
		if c := sandbox.ConditionOf(aw.Status.Conditions, "Unhealthy"); aw.Status.Phase != v1beta2.Running || aw.Status.Retries != 0 || len(c) > 15 && c[:15] == "Unhealthy=True/" {
			return fmt.Sprintf("phase %s, %d resets, %s", aw.Status.Phase, aw.Status.Retries, c)
		}
		return ""
	})
}

func TestInPlaceRestartIsHealthy(t *testing.T) {
	w := newWorld(t)
	w.runningJobSet(impatient()...)
	w.says(recovering.LevelProcess)
	w.podPhase(w.worker(1, 1), corev1.PodFailed, 137) // its slot is repaired
	w.awaitCondition("a", "Unhealthy=False/RecoveringBelow")
	w.staysAsItIs()
	w.OK(w.Delete(w.Context(), w.worker(1, 1), client.GracePeriodSeconds(0)))
	w.staysAsItIs()
}

func TestJobSetRecreationIsNotAFailure(t *testing.T) {
	w := newWorld(t)
	w.runningJobSet(impatient()...)
	w.says(recovering.LevelRecreate)
	for i := range 2 {
		w.podPhase(w.worker(i, 1), corev1.PodFailed, 143)
	}
	w.staysAsItIs()
	w.sweep()
	w.workers(2)
	w.awaitCondition("a", "PodsReady=True/SufficientPodsReady")
	w.says(0)
	w.awaitCondition("a", "Unhealthy=False/FoundNoFailedPods")
	w.staysAsItIs()
}

func TestFailedInPlaceRestartLeadsToAReset(t *testing.T) {
	w := newWorld(t)
	w.runningJobSet(impatient()...)
	w.says(recovering.LevelProcess)
	w.podPhase(w.worker(1, 1), corev1.PodFailed, 137)
	w.awaitCondition("a", "Unhealthy=False/RecoveringBelow")
	w.says(0)
	w.awaitPhase("a", v1beta2.Resetting)
}

func TestFailedJobSetIsResetUntilRetryLimit(t *testing.T) {
	w := newWorld(t)
	w.runningJobSet(impatient()...)
	old := w.jobSet().GetUID()
	w.jobSetFails()
	w.awaitPhase("a", v1beta2.Resetting)
	w.awaitMark(recovering.LevelReset)
	if got := sandbox.ConditionOf(w.get("a").Status.Conditions, "QuotaReserved"); got != "QuotaReserved=True/Resuming" {
		t.Errorf("during the reset: %s", got)
	}
	w.sweep()
	w.awaitNewJobSet(old)
	w.awaitMark(recovering.LevelReset) // its pods are not running yet
	w.workers(2)
	w.awaitCondition("a", "PodsReady=True/SufficientPodsReady")
	w.awaitMark(0)
	w.jobSetFails()
	aw := w.awaitPhase("a", v1beta2.Failed)
	if aw.Status.Retries != 1 || len(aw.Status.Attempts) != 2 {
		t.Errorf("%d resets, attempts %+v", aw.Status.Retries, aw.Status.Attempts)
	}
	w.sweep()
	w.awaitCondition("a", "QuotaReserved=False/Failed")
	w.awaitMark(0)
}

// awaitMark waits until the AppWrapper's annotation announces a reset at the given level, without a condition. Level
// 0 means that there is no annotation.
func (w *world) awaitMark(level int) {
	w.Helper()
	w.Eventually(func() string {
		aw := w.get("a")
		state, found := recovering.Of(aw.Annotations)
		condition := sandbox.ConditionOf(aw.Status.Conditions, recovering.Condition)
		switch {
		case condition != "Recovering is absent":
		case level == 0 && !found, level > 0 && found && state.Level == level:
			return ""
		}
		return fmt.Sprintf("phase %s, annotation %+v, condition %s", aw.Status.Phase, state, condition)
	})
}
