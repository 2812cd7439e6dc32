//go:build envtest

package jobset

import (
	"math"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	. "github.com/holdfast-project/holdfast/jobset-controller/internal/testing/wrappers"
	"github.com/holdfast-project/holdfast/shared/testing/sandbox"
)

// inPlace returns a JobSet whose pods have the upstream agent. The test simulates the agents.
func inPlace(maxRestarts int32) *JobSet {
	return MakeJobSet("a").MaxRestarts(maxRestarts).Strategy(v1alpha2.InPlaceRestart).Entry("workers", 2, func(e *v1alpha2.ReplicatedJob) {
		e.Template.Spec.BackoffLimit, e.Template.Spec.PodReplacementPolicy = ptr.To[int32](math.MaxInt32), ptr.To(batchv1.Failed)
	})
}

// podOf creates the pod of a Job, as the Job controller does.
func (w *world) podOf(job string) {
	w.Helper()
	w.OK(w.Create(w.Context(), w.builtPod(w.job(job))))
}

func (w *world) builtPod(job *batchv1.Job) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: job.Name + "-0", Namespace: w.Namespace, Labels: job.Spec.Template.Labels, Annotations: job.Spec.Template.Annotations,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(job, batchv1.SchemeGroupVersion.WithKind("Job"))},
		},
		Spec: job.Spec.Template.Spec,
	}
	pod.Spec.Containers = []corev1.Container{{Name: "worker", Image: "worker-image"}}
	return pod
}

// says reports an attempt on a pod by server-side apply, as the pod's agent does.
func (w *world) says(pod string, attempt int) {
	w.Helper()
	live := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: pod, Namespace: w.Namespace}}
	patch := []byte(`{"metadata":{"annotations":{"` + v1alpha2.InPlaceAttemptKey + `":"` + strconv.Itoa(attempt) + `"}}}`)
	w.OK(w.Patch(w.Context(), live, client.RawPatch("application/merge-patch+json", patch)))
}

// awaitAttempts waits until the status has these attempts; -1 means none.
func (w *world) awaitAttempts(previous, current int32) {
	w.Helper()
	w.Eventually(func() string {
		s := w.jobSet("a").Status
		return cmp.Diff([]int32{previous, current},
			[]int32{ptr.Deref(s.PreviousInPlaceRestartAttempt, -1), ptr.Deref(s.CurrentInPlaceRestartAttempt, -1)})
	})
}

func TestAgentsGetTheirAttempts(t *testing.T) {
	w := newWorld(t)
	w.create(inPlace(3))
	w.awaitJobs("a-workers-0@0", "a-workers-1@0")
	w.podOf("a-workers-0")
	w.podOf("a-workers-1")
	w.says("a-workers-0-0", 0)
	w.Always(func() string { return cmp.Diff((*int32)(nil), w.jobSet("a").Status.CurrentInPlaceRestartAttempt) })
	w.says("a-workers-1-0", 0)
	w.awaitAttempts(-1, 0) // the barrier is lifted

	w.says("a-workers-1-0", 1) // one agent has restarted after a failure
	w.awaitAttempts(0, 0)      // the others must restart
	w.awaitCondition("a", "RestartingInPlace=True/InPlaceRestartAttempt")
	w.says("a-workers-0-0", 1)
	w.awaitAttempts(0, 1)
	w.ready("a-workers-0")
	w.ready("a-workers-1")
	w.awaitCondition("a", "RestartingInPlace=False/JobsReady")
	w.Always(func() string { return sandbox.Differs("jobs", "a-workers-0@0 a-workers-1@0", w.jobNames()) })
}

func TestAttemptsBeyondTheBudgetFailTheJobSet(t *testing.T) {
	w := newWorld(t)
	w.create(inPlace(1))
	w.awaitJobs("a-workers-0@0", "a-workers-1@0")
	w.podOf("a-workers-0")
	w.says("a-workers-0-0", 2)
	w.awaitCondition("a", "Failed=True/ReachedMaxRestarts")
}

// Anyone who can create pods can set any label on them.
func TestPodWithoutAJobIsIgnored(t *testing.T) {
	w := newWorld(t)
	w.create(inPlace(1))
	w.awaitJobs("a-workers-0@0", "a-workers-1@0")
	forged := w.builtPod(w.job("a-workers-0"))
	forged.OwnerReferences, forged.Name = nil, "forged"
	w.OK(w.Create(t.Context(), forged))
	w.says("forged", 9)
	w.podOf("a-workers-0")
	w.podOf("a-workers-1")
	w.says("a-workers-0-0", 0)
	w.says("a-workers-1-0", 0)
	w.awaitAttempts(-1, 0)
	w.Always(func() string { return sandbox.Differs("terminalState", "", w.jobSet("a").Status.TerminalState) })
}

// Pods stopped by a queue have not failed. The upstream controller counts the pods that replace them against the budget.
func TestSuspensionIsNoInPlaceRestart(t *testing.T) {
	w := newWorld(t)
	w.create(inPlace(1))
	w.awaitJobs("a-workers-0@0", "a-workers-1@0")
	for _, job := range []string{"a-workers-0", "a-workers-1"} {
		w.podOf(job)
		w.says(job+"-0", 0)
	}
	w.awaitAttempts(-1, 0)
	w.suspend("a", true)
	for _, job := range []string{"a-workers-0", "a-workers-1"} {
		w.OK(w.Delete(t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: job + "-0", Namespace: w.Namespace}}, client.GracePeriodSeconds(0)))
	}
	w.awaitAttempts(-1, -1)
}
