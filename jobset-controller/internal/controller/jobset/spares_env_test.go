//go:build envtest

package jobset

import (
	"fmt"
	"strings"
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

func withSpares(n string) *JobSet {
	return MakeJobSet("a").Entry("w", 1, runnable("train")).Annotation(v1alpha2.InPlaceTimeoutKey, "60s").Annotation(v1alpha2.SparesKey, n)
}

// startSpared creates a JobSet, and returns when its worker is ready and its spares exist.
func (w *world) startSpared(js *JobSet) {
	w.Helper()
	w.create(js)
	w.awaitJobs("a-w-0@0")
	w.ready("a-w-0")
	w.awaitJobs("a-w-0@0", "a-w-spares@0")
}

func (w *world) awaitSpares(want int32) {
	w.Helper()
	w.Eventually(func() string {
		return sandbox.Differs("spares", fmt.Sprint(want), fmt.Sprint(*w.job("a-w-spares").Spec.Completions))
	})
}

// podInSlot creates the Job's pod with the given index, and assigns it a slot.
func (w *world) podInSlot(job *batchv1.Job, index, slot string) *corev1.Pod {
	w.Helper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: w.Namespace, Name: job.Name + "-" + index + "-x", Labels: map[string]string{batchv1.JobNameLabel: job.Name},
		Annotations: map[string]string{batchv1.JobCompletionIndexAnnotation: index, v1alpha2.SlotKey: slot},
	}, Spec: *job.Spec.Template.Spec.DeepCopy()}
	w.OK(w.Create(w.Context(), pod))
	return pod
}

func (w *world) setPhase(pod *corev1.Pod, phase corev1.PodPhase) {
	w.Helper()
	pod.Status.Phase = phase
	w.OK(w.Status().Update(w.Context(), pod))
}

// The spare Job finishes last, and is not included in any count.
func TestSparesDoNotCount(t *testing.T) {
	w := newWorldThatAdds(t, agentsToAdd)
	w.startSpared(withSpares("2"))
	w.awaitSpares(2)
	want := []v1alpha2.ReplicatedJobStatus{{Name: "w", Ready: 1, Active: 1}}
	w.Eventually(func() string { return cmp.Diff(want, w.jobSet("a").Status.ReplicatedJobsStatus) })
	w.fail("a-w-spares")
	w.succeed("a-w-0")
	w.awaitCondition("a", "Completed=True/AllJobsCompleted")
}

// A worker has finished in a spare. The pod that replaced the worker's original pod may never start, and the JobSet
// does not wait for it.
func TestAJobSetCompletesWithoutThePodThatReplacesALostOne(t *testing.T) {
	w := newWorldThatAdds(t, agentsToAdd)
	w.startSpared(withSpares("1"))
	pod := w.podInSlot(w.job("a-w-0"), "0", v1alpha2.SlotWaits)
	w.setPhase(pod, corev1.PodRunning)
	w.succeed("a-w-spares")
	waits := func() string { return sandbox.Differs("state", "", w.jobSet("a").Status.TerminalState) }
	w.Always(waits) // it may still upload logs
	w.setPhase(pod, corev1.PodSucceeded)
	w.playJob("a-w-0", func(status *batchv1.JobStatus) { status.Ready = ptr.To[int32](0) })
	w.Always(waits) // the Job controller has not counted it yet
	w.playJob("a-w-0", func(status *batchv1.JobStatus) { status.Ready = ptr.To[int32](1) })
	w.setPhase(pod, corev1.PodPending)
	w.playJob("a-w-0", func(status *batchv1.JobStatus) { status.Ready = ptr.To[int32](0) })
	w.awaitCondition("a", "Completed=True/AllJobsCompleted")
	w.awaitJobs("a-w-0@0-", "a-w-spares@0")
	w.collect("a-w-0")
	w.Always(func() string {
		return sandbox.Differs("succeeded", "1", fmt.Sprint(w.jobSet("a").Status.ReplicatedJobsStatus[0].Succeeded))
	})
}

// A stage that waits for success does not start earlier: if the store lost its data, nothing would show that the worker
// in the spare has finished.
func TestASparedStageStillWaitsForItsJobs(t *testing.T) {
	w := newWorldThatAdds(t, agentsToAdd)
	js := withSpares("1").Entry("x", 1, runnable("train"), func(e *v1alpha2.ReplicatedJob) {
		e.DependsOn = []v1alpha2.DependsOn{{Name: "w", Status: v1alpha2.DependencyComplete}}
	})
	w.startSpared(js)
	w.succeed("a-w-spares")
	w.Always(func() string { return sandbox.Differs("jobs", "a-w-0@0 a-w-spares@0", w.jobNames()) })
	w.succeed("a-w-0")
	w.Eventually(func() string {
		return sandbox.Differs("new job", "true", fmt.Sprint(strings.Contains(w.jobNames(), "a-x-0@0")))
	})
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
	w.awaitSuspendedJobs("a-w-spares") // running spares would keep the workers off their nodes
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

// A spare with an assigned slot stays, and so do the spares with lower indexes.
func TestTheNumberOfSparesChanges(t *testing.T) {
	w := newWorldThatAdds(t, agentsToAdd)
	w.startSpared(withSpares("1"))
	w.annotate("a", v1alpha2.SparesKey, "4")
	w.awaitSpares(4)
	job := w.job("a-w-spares")
	used := w.podInSlot(job, "1", "a-w-0-0")
	w.annotate("a", v1alpha2.SparesKey, "0")
	w.awaitSpares(2)
	w.OK(w.Delete(w.Context(), used, client.GracePeriodSeconds(0)))
	w.annotate("a", v1alpha2.SparesKey, "1")
	w.awaitSpares(1)
	w.annotate("a", v1alpha2.SparesKey, "many")
	w.Eventually(func() string {
		if got := strings.Join(w.eventsWith(v1alpha2.InvalidSpecReason), "\n"); !strings.Contains(got, `"many"`) {
			return "events: " + got
		}
		return ""
	})
	w.awaitSpares(1)
	w.awaitCondition("a", "Accepted=False/InvalidSpec")
	w.annotate("a", v1alpha2.SparesKey, "0")
	w.awaitCondition("a", "Accepted=True/SpecAccepted")
	w.awaitJobs("a-w-0@0", "a-w-spares@0-")
}

func TestSparesWithoutInPlaceRestartsAreReported(t *testing.T) {
	w := newWorldThatAdds(t, agentsToAdd)
	w.create(MakeJobSet("a").Entry("w", 1, runnable("train")).Annotation(v1alpha2.SparesKey, "1"))
	w.awaitCondition("a", "Accepted=False/InvalidSpec")
	w.awaitJobs("a-w-0@0")
	w.ready("a-w-0")
	w.Always(func() string { return sandbox.Differs("jobs", "a-w-0@0", w.jobNames()) })
}

// Workers that were created without spares cannot reach a worker in a spare.
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

// Spares also wait for a recreation if the template had set their number to 0, or if another replicatedJob gets spares.
func TestSparesWaitForWorkersThatCanReachThem(t *testing.T) {
	w := newWorldThatAdds(t, agentsToAdd)
	w.create(MakeJobSet("a").Entry("w", 1, runnable("train"), func(e *v1alpha2.ReplicatedJob) {
		e.Template.Annotations = map[string]string{v1alpha2.SparesKey: "0"}
	}).Entry("x", 1, runnable("train")).Annotation(v1alpha2.InPlaceTimeoutKey, "60s"))
	w.awaitJobs("a-w-0@0", "a-x-0@0")
	w.ready("a-w-0")
	w.ready("a-x-0")
	for _, i := range []int{0, 1} {
		w.change("a", func(js *v1alpha2.JobSet) {
			for n := range js.Spec.ReplicatedJobs {
				js.Spec.ReplicatedJobs[n].Template.Annotations = nil
			}
			js.Spec.ReplicatedJobs[i].Template.Annotations = map[string]string{v1alpha2.SparesKey: "1"}
		})
		w.Eventually(func() string {
			return sandbox.Differs("events", fmt.Sprint(i+1), fmt.Sprint(len(w.eventsWith("SparesLater"))))
		})
		w.Always(func() string { return sandbox.Differs("jobs", "a-w-0@0 a-x-0@0", w.jobNames()) })
	}
}

// With a stage queue, Kueue admits the spare Job individually, and would stop it if its size changed.
func TestSparesWaitInTheStageQueue(t *testing.T) {
	w := newWorldThatAdds(t, agentsToAdd)
	w.create(withSpares("1").Annotation(v1alpha2.StageQueueKey, "night"))
	w.awaitJobs("a-w-0@0")
	w.admit("a-w-0")
	w.ready("a-w-0")
	w.awaitJobs("a-w-0@0", "a-w-spares@0")
	job := w.job("a-w-spares")
	if job.Labels[v1alpha2.QueueNameLabel] != "night" {
		t.Errorf("labels %v", job.Labels)
	}
	w.Always(func() string { return sandbox.Differs("suspended jobs", "a-w-spares", w.suspendedJobs()) })
	w.admit("a-w-spares")
	used := w.podInSlot(job, "0", "a-w-0-0")
	w.annotate("a", v1alpha2.SparesKey, "2")
	w.Always(func() string {
		return sandbox.Differs("spares", "1", fmt.Sprint(*w.job("a-w-spares").Spec.Completions))
	})
	w.OK(w.Delete(w.Context(), used, client.GracePeriodSeconds(0)))
	w.annotate("a", v1alpha2.SparesKey, "3")
	w.awaitJobs("a-w-0@0", "a-w-spares@0-")
	w.collect("a-w-spares")
	w.awaitJobs("a-w-0@0", "a-w-spares@0")
	w.awaitSpares(3)
	w.awaitSuspendedJobs("a-w-spares")
	w.change("a", func(js *v1alpha2.JobSet) { delete(js.Annotations, v1alpha2.StageQueueKey) })
	w.Always(func() string { return sandbox.Differs("suspended jobs", "a-w-spares", w.suspendedJobs()) })
	w.annotate("a", v1alpha2.StageQueueKey, "night")
	w.suspend("a", true)
	w.awaitJobs("a-w-0@0-", "a-w-spares@0-")
}

// Without the webhook, a JobSet with spares can be queued as a whole. In that case, Kueue does not count spares.
func TestSparesEndWhenTheirJobSetIsQueued(t *testing.T) {
	for name, queue := range map[string]func(*v1alpha2.JobSet){
		"with the label of a queue": func(js *v1alpha2.JobSet) { js.Labels = map[string]string{v1alpha2.QueueNameLabel: "q"} },
		"admitted without one": func(js *v1alpha2.JobSet) {
			js.Spec.Suspend = ptr.To(true)
			js.Spec.ReplicatedJobs[0].Template.Spec.Template.Labels = map[string]string{v1alpha2.PodSetLabel: "w"}
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorldThatAdds(t, agentsToAdd)
			w.startSpared(withSpares("1"))
			w.podInSlot(w.job("a-w-spares"), "0", "a-w-0-0")
			w.change("a", queue)
			w.awaitJobs("a-w-0@0", "a-w-spares@0-")
			w.collect("a-w-spares")
			w.Always(func() string { return sandbox.Differs("jobs", "a-w-0@0", w.jobNames()) })
			if len(w.eventsWith(v1alpha2.InvalidSpecReason)) == 0 {
				t.Error("no event gives the reason")
			}
		})
	}
}
