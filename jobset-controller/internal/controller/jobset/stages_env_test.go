//go:build envtest

package jobset

import (
	"strings"
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

// threeStages returns a JobSet with three stages. The first must succeed, and the second must become ready.
func threeStages() *JobSet {
	return MakeJobSet("a").Entry("fetch", 2).Entry("launch", 1).Entry("train", 1).
		WaitFor(v1alpha2.WaitForSucceeded, "fetch").WaitFor(v1alpha2.WaitForReady, "launch")
}

func TestStagesFollowTheirRules(t *testing.T) {
	w := newWorld(t)
	created := w.create(threeStages())
	w.awaitJobs("a-fetch-0@0", "a-fetch-1@0")
	w.ready("a-fetch-0")
	w.ready("a-fetch-1")
	w.awaitCondition("a", "Running=False/WaitingForStage")
	w.Always(func() string { return sandbox.Differs("jobs", "a-fetch-0@0 a-fetch-1@0", w.jobNames()) })
	w.succeed("a-fetch-0")
	w.Always(func() string { return sandbox.Differs("jobs", "a-fetch-0@0 a-fetch-1@0", w.jobNames()) })
	w.awaitCondition("a", "StartupPolicyInProgress=True/InOrderStartupPolicyInProgress")
	w.succeed("a-fetch-1")
	w.awaitJobs("a-fetch-0@0", "a-fetch-1@0", "a-launch-0@0")
	w.ready("a-launch-0")
	w.awaitJobs("a-fetch-0@0", "a-fetch-1@0", "a-launch-0@0", "a-train-0@0")
	w.ready("a-train-0")
	w.awaitCondition("a", "StartupPolicyCompleted=True/InOrderStartupPolicyCompleted")
	w.awaitCondition("a", "StartupPolicyInProgress=False/InOrderStartupPolicyInProgress")
	w.awaitCondition("a", "Running=True/AllJobsReady")
	if diff := cmp.Diff(created.Spec, w.jobSet("a").Spec); diff != "" {
		t.Errorf("the spec was written: %s", diff)
	}
	w.succeed("a-launch-0")
	w.succeed("a-train-0")
	w.awaitCondition("a", "Completed=True/AllJobsCompleted")
}

func TestReadyStages(t *testing.T) {
	w := newWorld(t)
	w.create(MakeJobSet("a").Entry("one", 1).Entry("two", 1).Entry("three", 1).WaitFor(v1alpha2.WaitForReady, "one", "two"))
	w.awaitJobs("a-one-0@0")
	w.ready("a-one-0")
	w.awaitJobs("a-one-0@0", "a-two-0@0") // one rule covers both, but they start one after the other
	w.Always(func() string { return sandbox.Differs("jobs", "a-one-0@0 a-two-0@0", w.jobNames()) })
	w.succeed("a-two-0") // so fast that it was never observed as ready
	w.awaitJobs("a-one-0@0", "a-three-0@0", "a-two-0@0")
}

func TestSecondStageNeverStartsIfTheFirstFails(t *testing.T) {
	w := newWorld(t)
	w.create(threeStages())
	w.awaitJobs("a-fetch-0@0", "a-fetch-1@0")
	w.succeed("a-fetch-0")
	w.fail("a-fetch-1")
	w.awaitCondition("a", "Failed=True/FailedJobs")
	w.Always(func() string { return sandbox.Differs("jobs", "a-fetch-0@0 a-fetch-1@0", w.jobNames()) })
}

func TestRestartRepeatsTheSequence(t *testing.T) {
	w := newWorld(t)
	w.create(threeStages().MaxRestarts(1))
	w.awaitJobs("a-fetch-0@0", "a-fetch-1@0")
	w.succeed("a-fetch-0")
	w.succeed("a-fetch-1")
	w.awaitJobs("a-fetch-0@0", "a-fetch-1@0", "a-launch-0@0")
	w.fail("a-launch-0")
	w.awaitRestarts("a", 1, 1)
	w.awaitJobs("a-fetch-0@0-", "a-fetch-1@0-", "a-launch-0@0-")
	w.collect("a-launch-0", "a-fetch-0", "a-fetch-1")
	w.awaitJobs("a-fetch-0@1", "a-fetch-1@1")
	w.awaitCondition("a", "StartupPolicyInProgress=True/InOrderStartupPolicyInProgress")
	w.Always(func() string { return sandbox.Differs("jobs", "a-fetch-0@1 a-fetch-1@1", w.jobNames()) })
}

// The gates depend only on the Jobs, so the next manager continues wherever the previous one died.
func TestSequenceContinuesAfterTheManagerRestarts(t *testing.T) {
	w := newWorld(t)
	w.create(threeStages())
	w.awaitJobs("a-fetch-0@0", "a-fetch-1@0")
	w.succeed("a-fetch-0")
	w.Stop()
	w.succeed("a-fetch-1")
	w.start()
	w.awaitJobs("a-fetch-0@0", "a-fetch-1@0", "a-launch-0@0")
	w.Stop()
	w.start()
	w.Always(func() string { return sandbox.Differs("jobs", "a-fetch-0@0 a-fetch-1@0 a-launch-0@0", w.jobNames()) })
	w.Stop()
	w.ready("a-launch-0")
	w.start()
	w.awaitJobs("a-fetch-0@0", "a-fetch-1@0", "a-launch-0@0", "a-train-0@0")
	w.awaitCondition("a", "StartupPolicyInProgress=True/InOrderStartupPolicyInProgress")
}

func TestCompleteStagesStayCompleteAfterASuspension(t *testing.T) {
	w := newWorld(t)
	w.create(threeStages())
	w.awaitJobs("a-fetch-0@0", "a-fetch-1@0")
	w.succeed("a-fetch-0")
	w.succeed("a-fetch-1")
	w.awaitJobs("a-fetch-0@0", "a-fetch-1@0", "a-launch-0@0")
	w.suspend("a", true)
	w.awaitJobs("a-fetch-0@0", "a-fetch-1@0", "a-launch-0@0", "a-train-0@0")
	w.awaitCondition("a", "Suspended=True/SuspendedJobs")
	w.suspend("a", false)
	w.awaitSuspended("a-train-0")
	w.ready("a-launch-0")
	w.awaitSuspended()
}

// The Job controller takes a moment to stop pods. If the JobSet is resumed before that, the counts are still outdated.
func TestQuickSuspendAndResumeKeepsTheOrder(t *testing.T) {
	w := newWorld(t)
	w.create(MakeJobSet("a").Entry("one", 1).Entry("two", 1).InOrder())
	w.awaitJobs("a-one-0@0")
	w.ready("a-one-0")
	w.awaitJobs("a-one-0@0", "a-two-0@0")
	w.ready("a-two-0")
	w.awaitCondition("a", "StartupPolicyCompleted=True/InOrderStartupPolicyCompleted")
	w.suspend("a", true)
	w.awaitCondition("a", "Suspended=True/SuspendedJobs")
	for _, name := range []string{"a-one-0", "a-two-0"} { // suspended, and the counters do not show it yet
		w.playJob(name, func(s *batchv1.JobStatus) {
			s.Conditions = append(s.Conditions, batchv1.JobCondition{Type: batchv1.JobSuspended, Status: corev1.ConditionTrue})
		})
	}
	w.suspend("a", false)
	w.awaitSuspended("a-two-0")
	w.Always(func() string { return sandbox.Differs("suspended jobs", "a-two-0", w.suspendedJobs()) })
	w.playJob("a-one-0", func(s *batchv1.JobStatus) { s.Conditions = nil })
	w.awaitSuspended()
}

func TestFinishedStageDoesNotRunAgain(t *testing.T) {
	w := newWorld(t)
	w.create(threeStages())
	w.awaitJobs("a-fetch-0@0", "a-fetch-1@0")
	w.succeed("a-fetch-0")
	w.succeed("a-fetch-1")
	w.awaitJobs("a-fetch-0@0", "a-fetch-1@0", "a-launch-0@0")
	w.OK(w.Delete(t.Context(), w.job("a-fetch-0"), client.PropagationPolicy(metav1.DeletePropagationBackground)))
	w.Always(func() string { return sandbox.Differs("jobs", "a-fetch-1@0 a-launch-0@0", w.jobNames()) })
	w.ready("a-launch-0")
	w.awaitJobs("a-fetch-1@0", "a-launch-0@0", "a-train-0@0")
	w.succeed("a-launch-0")
	w.succeed("a-train-0")
	w.awaitCondition("a", "Completed=True/AllJobsCompleted")
	w.awaitCondition("a", "StartupPolicyCompleted=True/InOrderStartupPolicyCompleted")
}

// awaitSuspended waits until exactly these Jobs are suspended.
func (w *world) awaitSuspended(want ...string) {
	w.Helper()
	w.Eventually(func() string {
		var got []string
		for _, job := range w.jobs() {
			if job.Spec.Suspend != nil && *job.Spec.Suspend {
				got = append(got, job.Name)
			}
		}
		return sandbox.Differs("suspended jobs", strings.Join(want, " "), strings.Join(got, " "))
	})
}

// The JobSet was created before the current admission rules existed.
func TestInvalidSequenceStartsNothing(t *testing.T) {
	w := newWorld(t)
	w.create(MakeJobSet("a").Entry("one", 1).Entry("two", 1).WaitFor(v1alpha2.WaitForReady, "nobody"))
	w.awaitCondition("a", "Accepted=False/InvalidSpec")
	w.awaitCondition("a", "Running=False/NotAccepted")
	w.Always(func() string { return sandbox.Differs("jobs", "", w.jobNames()) })
	if got := w.eventsWith("InvalidSpec"); len(got) != 1 || !strings.Contains(got[0], "spec.startupPolicy.rules[0].targetReplicatedJobs[0]") {
		t.Errorf("events: %q", got)
	}
}
