//go:build envtest

package jobset

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/policy"
	. "github.com/holdfast-project/holdfast/jobset-controller/internal/testing/wrappers"
	"github.com/holdfast-project/holdfast/shared/coordination/epoch"
	"github.com/holdfast-project/holdfast/shared/testing/sandbox"
)

// awaitRestarts waits until the status shows these numbers of restarts: all of them, and those that count towards
// maxRestarts.
func (w *world) awaitRestarts(name string, all, counted int32) {
	w.Helper()
	w.Eventually(func() string {
		s := w.jobSet(name).Status
		return cmp.Diff([]int32{all, counted}, []int32{s.Restarts, s.RestartsCountTowardsMax})
	})
}

func TestRestartRecreatesAllJobsUntilTheBudgetIsUsedUp(t *testing.T) {
	w := newWorld(t)
	w.create(MakeJobSet("a").Workers(2).MaxRestarts(1))
	w.awaitJobs("a-workers-0@0", "a-workers-1@0")
	w.fail("a-workers-0")
	w.awaitRestarts("a", 1, 1)
	w.awaitCondition("a", "RestartingJobSet=True/DefaultFailurePolicy")
	w.awaitJobs("a-workers-0@0-", "a-workers-1@0-")

	w.collect("a-workers-1")
	w.awaitJobs("a-workers-0@0-", "a-workers-1@1") // each Job is created as soon as its predecessor is gone
	w.collect("a-workers-0")
	w.awaitJobs("a-workers-0@1", "a-workers-1@1")
	w.ready("a-workers-0")
	w.ready("a-workers-1")
	w.awaitCondition("a", "RestartingJobSet=False/JobsReady")

	w.fail("a-workers-1")
	w.awaitCondition("a", "Failed=True/ReachedMaxRestarts")
	w.awaitJobs("a-workers-0@1-", "a-workers-1@1")
	w.awaitRestarts("a", 1, 1)
	w.countIs("jobset_restarts_total", 1)
}

func TestSeveralFailedJobsCauseOneRestart(t *testing.T) {
	w := newWorld(t)
	w.create(MakeJobSet("a").Workers(3).MaxRestarts(5))
	w.awaitJobs("a-workers-0@0", "a-workers-1@0", "a-workers-2@0")
	w.Stop()
	w.fail("a-workers-0")
	w.fail("a-workers-2")
	w.start()
	w.awaitJobs("a-workers-0@0-", "a-workers-1@0-", "a-workers-2@0-")
	w.Always(func() string { return cmp.Diff(int32(1), w.jobSet("a").Status.Restarts) })
}

func TestDeletedJobIsRecreatedWithoutACharge(t *testing.T) {
	w := newWorld(t)
	w.create(MakeJobSet("a").Workers(1))
	w.awaitJobs("a-workers-0@0")
	first := w.job("a-workers-0")
	w.ready("a-workers-0")
	w.OK(w.Delete(t.Context(), first, client.PropagationPolicy(metav1.DeletePropagationForeground)))
	time.Sleep(2 * time.Second) // the decision compares times in whole seconds
	w.fail("a-workers-0")
	w.Always(func() string { return sandbox.Differs("terminalState", "", w.jobSet("a").Status.TerminalState) })
	w.collect("a-workers-0")
	w.awaitJobs("a-workers-0@0")
	if w.job("a-workers-0").UID == first.UID {
		t.Error("the Job was not recreated")
	}
}

func TestBlockingRecreateWaitsForAllOldJobs(t *testing.T) {
	w := newWorld(t)
	w.create(MakeJobSet("a").Workers(2).MaxRestarts(1).Strategy(v1alpha2.BlockingRecreate))
	w.awaitJobs("a-workers-0@0", "a-workers-1@0")
	w.fail("a-workers-0")
	w.awaitJobs("a-workers-0@0-", "a-workers-1@0-")
	w.collect("a-workers-1")
	w.Always(func() string { return sandbox.Differs("jobs", "a-workers-0@0-", w.jobNames()) })
	w.collect("a-workers-0")
	w.awaitJobs("a-workers-0@1", "a-workers-1@1")
}

func TestRuleMayRestartWithoutACharge(t *testing.T) {
	w := newWorld(t)
	w.create(MakeJobSet("a").Workers(1).MaxRestarts(0).
		Rule(v1alpha2.FailurePolicyRule{Name: "preempted", Action: v1alpha2.RestartJobSetAndIgnoreMaxRestarts}))
	w.awaitJobs("a-workers-0@0")
	w.fail("a-workers-0")
	w.awaitRestarts("a", 1, 0)
	w.awaitCondition("a", "RestartingJobSet=True/FailurePolicy_preempted")
	w.Eventually(func() string {
		for _, e := range w.Events() {
			if strings.HasPrefix(e, "Warning RestartJobSetAndIgnoreMaxRestartsFailurePolicyAction/") {
				return ""
			}
		}
		return "no event for the action: " + strings.Join(w.Events(), "\n")
	})
}

func TestRestartContinuesAfterTheControllerRestarts(t *testing.T) {
	w := newWorld(t)
	w.create(MakeJobSet("a").Workers(2).MaxRestarts(3))
	w.awaitJobs("a-workers-0@0", "a-workers-1@0")
	w.FailOn(func(call string, _ client.Object) error {
		if strings.HasPrefix(call, "delete") {
			return sandbox.ErrCrash
		}
		return nil
	})
	w.fail("a-workers-0")
	w.awaitRestarts("a", 1, 1)
	w.Stop()
	if got := w.jobNames(); got != "a-workers-0@0 a-workers-1@0" {
		t.Fatalf("the crash came too late: %s", got)
	}

	w.FailOn(nil)
	w.start()
	w.awaitJobs("a-workers-0@0-", "a-workers-1@0-")
	w.collect("a-workers-0", "a-workers-1")
	w.awaitJobs("a-workers-0@1", "a-workers-1@1")
	w.awaitRestarts("a", 1, 1)
}

func TestRestartOfAGroupOpensAnEpochFirst(t *testing.T) {
	w := newWorld(t)
	w.create(MakeJobSet("a").Workers(1).MaxRestarts(3).Annotation(v1alpha2.InPlaceTimeoutKey, "60s").Annotation(v1alpha2.InPlaceRestartsKey, "2"))
	w.awaitJobs("a-workers-0@0")
	want := `{"epoch":2,"base":3,"recreate":0,"cause":"recreate/1"}`
	w.FailOn(func(call string, _ client.Object) error {
		if call == "patch status of JobSet" {
			return sandbox.ErrCrash
		}
		return nil
	})
	w.fail("a-workers-0")
	w.awaitEpoch("a", want)
	w.Stop()
	if got := w.jobSet("a").Status.Restarts; got != 0 {
		t.Fatalf("the crash came too late: %d restarts", got)
	}

	// Before the next manager starts, the orchestrator publishes the restart counted for this epoch, which must not be
	// counted again.
	w.annotate("a", v1alpha2.InPlaceRestartsKey, "3")
	w.FailOn(nil)
	w.start()
	w.awaitRestarts("a", 1, 1)
	w.awaitJobs("a-workers-0@0-")
	w.collect("a-workers-0")
	w.awaitJobs("a-workers-0@1")
	if job := w.job("a-workers-0"); job.Annotations[epoch.Annotation] != "2" || job.Spec.Template.Annotations[epoch.Annotation] != "2" {
		t.Errorf("the new Job does not have the new epoch: %v", job.Annotations)
	}
	w.awaitEpoch("a", want)

	w.fail("a-workers-0")
	w.awaitCondition("a", "Failed=True/ReachedMaxRestarts")
}

func TestRestartWithoutInPlaceRestartsOpensNoEpoch(t *testing.T) {
	w := newWorld(t)
	w.create(MakeJobSet("a").Workers(1).MaxRestarts(3))
	w.awaitJobs("a-workers-0@0")
	w.fail("a-workers-0")
	w.awaitRestarts("a", 1, 1)
	if got, found := w.jobSet("a").Annotations[epoch.Annotation]; found {
		t.Errorf("epoch %s", got)
	}
}

func TestJobsBeforeAFullRecreationAreReplacedWithoutACharge(t *testing.T) {
	w := newWorld(t)
	w.create(MakeJobSet("a").Workers(2).MaxRestarts(3).Annotation(v1alpha2.InPlaceTimeoutKey, "60s"))
	w.awaitJobs("a-workers-0@0", "a-workers-1@0")
	failOver, _ := epoch.First().NextRecreate("timeout/1/1", 1)
	w.annotate("a", epoch.Annotation, failOver.Format())
	w.awaitJobs("a-workers-0@0-", "a-workers-1@0-")
	w.collect("a-workers-0", "a-workers-1")
	w.awaitJobs("a-workers-0@0", "a-workers-1@0")
	w.Always(func() string { return sandbox.Differs("jobs", "a-workers-0@0 a-workers-1@0", w.jobNames()) })
	if got := w.job("a-workers-0").Annotations[epoch.Annotation]; got != "2" {
		t.Errorf("the new Job has epoch %q", got)
	}
	w.awaitRestarts("a", 0, 0)
}

// A failed Job that was deleted by a full recreation, but is still in the cache, must not be counted.
func TestHandledFailureIsNotCharged(t *testing.T) {
	w := newWorld(t)
	w.create(MakeJobSet("a").Workers(1).Entry("other", 1).MaxRestarts(3))
	w.awaitJobs("a-other-0@0", "a-workers-0@0")
	w.Stop()
	w.fail("a-workers-0")
	r := &Reconciler{Options: Options{Live: w.Client}}
	for name, c := range map[string]struct {
		change func(*batchv1.Job)
		want   bool
	}{
		"the live Job has failed":         {func(*batchv1.Job) {}, true},
		"the live Job is a different Job": {func(job *batchv1.Job) { job.UID = "old" }, false},
		"the live Job is gone":            {func(job *batchv1.Job) { job.Name = "gone" }, false},
		"the live Job is running":         {func(job *batchv1.Job) { *job = *w.job("a-other-0") }, false},
	} {
		s := &scope{jobSet: w.jobSet("a")}
		s.decision.Rulings = []policy.Ruling{{Job: w.job("a-workers-0")}}
		c.change(s.decision.First().Job)
		if _, err := r.confirm(t.Context(), s); err != nil || s.decided != c.want {
			t.Errorf("%s: %v, %v", name, s.decided, err)
		}
	}
}

func (w *world) awaitEpoch(name, want string) {
	w.Helper()
	w.Eventually(func() string { return sandbox.Differs("epoch", want, w.jobSet(name).Annotations[epoch.Annotation]) })
}

// before reports whether the first call of one kind came before the first call of another.
func before(calls []string, first, second string) bool {
	a, b := slices.Index(calls, first), slices.Index(calls, second)
	return a >= 0 && (b < 0 || a < b)
}
