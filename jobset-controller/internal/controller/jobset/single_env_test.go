//go:build envtest

package jobset

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/plan/inject"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/policy"
	. "github.com/holdfast-project/holdfast/jobset-controller/internal/testing/wrappers"
	"github.com/holdfast-project/holdfast/shared/testing/sandbox"
)

func alone(action v1alpha2.FailurePolicyAction) v1alpha2.FailurePolicyRule {
	return v1alpha2.FailurePolicyRule{Name: "alone", Action: action}
}

// awaitSingle waits until the status has these restarts of single Jobs: all, those that count, and those by rule.
func (w *world) awaitSingle(all, counted []int32, byRule ...v1alpha2.RuleRestarts) {
	w.Helper()
	w.Eventually(func() string {
		status := w.jobSet("a").Status
		if len(status.ReplicatedJobsStatus) == 0 {
			return "no Jobs are counted yet"
		}
		got := status.ReplicatedJobsStatus[0]
		return cmp.Diff([]any{all, counted, byRule}, []any{got.JobRestarts, got.JobRestartsCountTowardsMax, status.RuleRestarts})
	})
}

func TestFailedJobsAreRecreatedAloneInOneReconcile(t *testing.T) {
	w := newWorld(t)
	w.create(MakeJobSet("a").Workers(3).MaxRestarts(3).Rule(alone(v1alpha2.RestartJob)))
	w.awaitJobs("a-workers-0@0", "a-workers-1@0", "a-workers-2@0")
	if got := w.job("a-workers-0").Labels[v1alpha2.JobRestartsKey]; got != "0" {
		t.Errorf("a new Job carries the restart count %q", got)
	}
	w.Stop()
	w.fail("a-workers-0")
	w.fail("a-workers-2")
	w.ready("a-workers-1")
	survivor := w.job("a-workers-1").UID
	w.start()
	w.awaitSingle([]int32{1, 0, 1}, []int32{1, 0, 1}, v1alpha2.RuleRestarts{Name: "alone", Restarts: 2})
	w.awaitCondition("a", "RestartingJobs=True/FailurePolicy_alone")
	w.awaitJobs("a-workers-0@0-", "a-workers-1@0", "a-workers-2@0-")
	if n := strings.Count(strings.Join(w.eventsWith("RestartJobFailurePolicyAction"), "\n"), "Warning"); n != 2 {
		t.Errorf("%d events for two restarts", n)
	}
	w.collect("a-workers-0", "a-workers-2")
	w.awaitJobs("a-workers-0@0", "a-workers-1@0", "a-workers-2@0")
	if got := w.job("a-workers-2"); got.Labels[v1alpha2.JobRestartsKey] != "1" || got.Spec.Template.Labels[v1alpha2.JobRestartsKey] != "1" {
		t.Errorf("labels of the new Job: %v", got.Labels)
	}
	w.ready("a-workers-0")
	w.ready("a-workers-2")
	w.awaitCondition("a", "RestartingJobs=False/JobsReady")
	w.awaitRestarts("a", 0, 0)
	w.countIs("jobset_job_restarts_total", 2)
	if w.job("a-workers-1").UID != survivor {
		t.Error("the Job that had not failed was recreated")
	}

	w.fail("a-workers-0")
	w.awaitSingle([]int32{2, 0, 1}, []int32{2, 0, 1}, v1alpha2.RuleRestarts{Name: "alone", Restarts: 3})
	w.collectWhenDeleted("a-workers-0")
	w.awaitJobs("a-workers-0@0", "a-workers-1@0", "a-workers-2@0")
	w.fail("a-workers-1")
	w.awaitCondition("a", "Failed=True/ReachedMaxRestarts")
}

func (w *world) collectWhenDeleted(name string) {
	w.Helper()
	w.Eventually(func() string {
		if w.job(name).DeletionTimestamp.IsZero() {
			return name + " is not being deleted"
		}
		return ""
	})
	w.collect(name)
}

func TestSingleRestartsThatDoNotCount(t *testing.T) {
	w := newWorld(t)
	w.create(MakeJobSet("a").Workers(2).MaxRestarts(0).Rule(alone(v1alpha2.RestartJobAndIgnoreMaxRestarts)))
	w.awaitJobs("a-workers-0@0", "a-workers-1@0")
	for n := range int32(3) {
		w.fail("a-workers-1")
		w.awaitSingle([]int32{0, n + 1}, nil, v1alpha2.RuleRestarts{Name: "alone", Restarts: n + 1})
		w.collectWhenDeleted("a-workers-1")
		w.awaitJobs("a-workers-0@0", "a-workers-1@0")
	}
}

func TestBlockingRecreateOfSingleJobs(t *testing.T) {
	w := newWorld(t)
	w.create(MakeJobSet("a").Workers(2).MaxRestarts(5).Strategy(v1alpha2.BlockingRecreate).Rule(alone(v1alpha2.RestartJob)))
	w.awaitJobs("a-workers-0@0", "a-workers-1@0")
	w.Stop()
	w.fail("a-workers-0")
	w.fail("a-workers-1")
	w.start()
	w.awaitJobs("a-workers-0@0-", "a-workers-1@0-")
	w.collect("a-workers-0")
	w.Always(func() string { return sandbox.Differs("jobs", "a-workers-1@0-", w.jobNames()) })
	w.collect("a-workers-1")
	w.awaitJobs("a-workers-0@0", "a-workers-1@0")
}

// Once a rule has used up its restarts, the next rule handles the failure: first only the Job is recreated, then all
// Jobs, and then the JobSet fails.
func TestRuleHasItsOwnBudget(t *testing.T) {
	w := newWorld(t)
	once := alone(v1alpha2.RestartJobAndIgnoreMaxRestarts)
	once.MaxRestarts = ptr.To[int32](1)
	w.create(MakeJobSet("a").Workers(2).MaxRestarts(1).Rule(once))
	w.awaitJobs("a-workers-0@0", "a-workers-1@0")
	w.fail("a-workers-0")
	w.awaitSingle([]int32{1, 0}, nil, v1alpha2.RuleRestarts{Name: "alone", Restarts: 1})
	w.collectWhenDeleted("a-workers-0")
	w.awaitJobs("a-workers-0@0", "a-workers-1@0")
	w.fail("a-workers-0")
	w.awaitRestarts("a", 1, 1)
	w.awaitCondition("a", "RestartingJobSet=True/DefaultFailurePolicy")
	w.awaitJobs("a-workers-0@0-", "a-workers-1@0-")
	w.collect("a-workers-0", "a-workers-1")
	w.awaitJobs("a-workers-0@1", "a-workers-1@1")
	w.fail("a-workers-1")
	w.awaitCondition("a", "Failed=True/ReachedMaxRestarts")
}

func TestFeatureWithoutItsGateIsReported(t *testing.T) {
	w := newStoppedWorld(t, inject.Settings{}, policy.Features{})
	w.start()
	w.create(MakeJobSet("a").Workers(1).Rule(alone(v1alpha2.RestartJob)))
	w.awaitCondition("a", "Accepted=False/FeatureDisabled")
	w.Always(func() string { return sandbox.Differs("jobs", "", w.jobNames()) })
	w.annotate("a", "example.com/touched", "yes")
	w.Always(func() string { return cmp.Diff(1, len(w.eventsWith("FeatureDisabled"))) })
}

func TestNoLabelOfSingleRestartsWithoutTheGate(t *testing.T) {
	w := newStoppedWorld(t, inject.Settings{}, policy.Features{})
	w.start()
	w.create(MakeJobSet("a").Workers(1))
	w.awaitJobs("a-workers-0@0")
	if got, found := w.job("a-workers-0").Labels[v1alpha2.JobRestartsKey]; found {
		t.Errorf("the Job carries %q", got)
	}
}

// failing sets the condition that the Job controller sets first, while the pods are still terminating.
func (w *world) failing(name string) {
	w.Helper()
	w.playJob(name, func(s *batchv1.JobStatus) {
		s.Active, s.Terminating = 0, ptr.To[int32](1)
		sandbox.SetJobCondition(s, batchv1.JobFailureTarget, corev1.ConditionTrue, "BackoffLimitExceeded")
	})
}

func TestRecoveryDoesNotWaitForThePodsOfAFailedJob(t *testing.T) {
	w := newWorld(t)
	w.create(MakeJobSet("a").Workers(2).MaxRestarts(1))
	w.awaitJobs("a-workers-0@0", "a-workers-1@0")
	w.failing("a-workers-0")
	w.awaitRestarts("a", 1, 1)
	w.awaitJobs("a-workers-0@0-", "a-workers-1@0-")
	w.fail("a-workers-0") // this has no effect
	w.Always(func() string { return cmp.Diff(int32(1), w.jobSet("a").Status.Restarts) })
}

func TestFailedJobSetKeepsTheJobWithTerminatingPods(t *testing.T) {
	w := newWorld(t)
	w.create(MakeJobSet("a").Workers(2))
	w.awaitJobs("a-workers-0@0", "a-workers-1@0")
	w.failing("a-workers-0")
	w.awaitCondition("a", "Failed=True/FailedJobs")
	w.awaitJobs("a-workers-0@0", "a-workers-1@0-")
}
