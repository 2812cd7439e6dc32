//go:build envtest

package jobset

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	. "github.com/holdfast-project/holdfast/jobset-controller/internal/testing/wrappers"
	"github.com/holdfast-project/holdfast/shared/testing/sandbox"
)

func withSpares(n string) *JobSet {
	return MakeJobSet("a").Entry("w", 1, runnable("train")).Annotation(v1alpha2.InPlaceTimeoutKey, "60s").Annotation(v1alpha2.SparesKey, n)
}

func (w *world) awaitSpares(want int32) {
	w.Helper()
	w.Eventually(func() string {
		return sandbox.Differs("spares", fmt.Sprint(want), fmt.Sprint(*w.job("a-w-spares").Spec.Completions))
	})
}

// The Job of spares ends last, and no count includes it.
func TestSparesDoNotCount(t *testing.T) {
	w := newWorldThatAdds(t, agentsToAdd)
	w.create(withSpares("2"))
	w.awaitJobs("a-w-0@0")
	w.ready("a-w-0")
	w.awaitJobs("a-w-0@0", "a-w-spares@0")
	w.awaitSpares(2)
	want := []v1alpha2.ReplicatedJobStatus{{Name: "w", Ready: 1, Active: 1}}
	w.Eventually(func() string { return cmp.Diff(want, w.jobSet("a").Status.ReplicatedJobsStatus) })
	w.fail("a-w-spares")
	w.succeed("a-w-0")
	w.awaitCondition("a", "Completed=True/AllJobsCompleted")
}

func TestSparesFollowTheirJobSet(t *testing.T) {
	w := newWorldThatAdds(t, agentsToAdd)
	w.create(withSpares("1").Suspend(true))
	w.awaitSuspendedJobs("a-w-0")
	w.suspend("a", false)
	w.awaitSuspendedJobs("")
	w.ready("a-w-0")
	w.awaitJobs("a-w-0@0", "a-w-spares@0")
	w.ready("a-w-spares")
	w.suspend("a", true)
	w.awaitSuspendedJobs("a-w-0 a-w-spares")
	w.stopPods("a-w-0")
	w.stopPods("a-w-spares")
	w.suspend("a", false)
	w.awaitSuspendedJobs("a-w-spares") // they would keep the workers off their nodes
	w.change("a", func(js *v1alpha2.JobSet) { js.Spec.FailurePolicy = &v1alpha2.FailurePolicy{MaxRestarts: 1} })
	w.playJob("a-w-0", func(status *batchv1.JobStatus) {
		sandbox.JobReady(1)(status)
		sandbox.SetJobCondition(status, batchv1.JobSuspended, corev1.ConditionFalse, "JobResumed")
	})
	w.awaitSuspendedJobs("")
	w.fail("a-w-0")
	w.awaitJobs("a-w-0@0-", "a-w-spares@0-")
	w.collect("a-w-0", "a-w-spares")
	w.awaitJobs("a-w-0@1")
	w.ready("a-w-0")
	w.awaitJobs("a-w-0@1", "a-w-spares@1")
	w.fail("a-w-0")
	w.awaitCondition("a", "Failed=True/ReachedMaxRestarts")
	w.awaitJobs("a-w-0@1", "a-w-spares@1-")
}

// A spare that was given a slot stays, and with it the spares before it.
func TestTheNumberOfSparesChanges(t *testing.T) {
	w := newWorldThatAdds(t, agentsToAdd)
	w.create(withSpares("1"))
	w.awaitJobs("a-w-0@0")
	w.ready("a-w-0")
	w.awaitJobs("a-w-0@0", "a-w-spares@0")
	w.annotate("a", v1alpha2.SparesKey, "4")
	w.awaitSpares(4)
	job := w.job("a-w-spares")
	used := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: w.Namespace, Name: "a-w-spares-1-x", Labels: map[string]string{batchv1.JobNameLabel: job.Name},
		Annotations: map[string]string{batchv1.JobCompletionIndexAnnotation: "1", v1alpha2.SlotKey: "a-w-0-0"},
	}, Spec: *job.Spec.Template.Spec.DeepCopy()}
	w.OK(w.Create(w.Context(), used))
	w.annotate("a", v1alpha2.SparesKey, "0")
	w.awaitSpares(2)
	w.OK(w.Delete(w.Context(), used, client.GracePeriodSeconds(0)))
	w.annotate("a", v1alpha2.SparesKey, "1")
	w.awaitSpares(1)
	w.annotate("a", v1alpha2.SparesKey, "many")
	w.awaitSpares(1)
	w.annotate("a", v1alpha2.SparesKey, "0")
	w.awaitJobs("a-w-0@0", "a-w-spares@0-")
}

// Workers that were created without spares cannot find one.
func TestSparesOfARunningJobSetWaitForItsRecreation(t *testing.T) {
	w := newWorldThatAdds(t, agentsToAdd)
	w.create(MakeJobSet("a").Entry("w", 1, runnable("train")).Annotation(v1alpha2.InPlaceTimeoutKey, "60s").MaxRestarts(1))
	w.awaitJobs("a-w-0@0")
	w.annotate("a", v1alpha2.SparesKey, "1")
	w.Eventually(func() string {
		return sandbox.Differs("events", "1", fmt.Sprint(len(w.eventsWith("SparesLater"))))
	})
	w.awaitJobs("a-w-0@0")
	w.fail("a-w-0")
	w.awaitJobs("a-w-0@0-")
	w.collect("a-w-0")
	w.awaitJobs("a-w-0@1")
	w.ready("a-w-0")
	w.awaitJobs("a-w-0@1", "a-w-spares@1")
}
