//go:build envtest

package jobset

import (
	"fmt"
	"testing"

	"k8s.io/utils/ptr"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/plan/inject"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/policy"
	. "github.com/holdfast-project/holdfast/jobset-controller/internal/testing/wrappers"
	"github.com/holdfast-project/holdfast/shared/testing/sandbox"
)

func (w *world) resize(to int32) {
	w.Helper()
	w.change("a", func(js *v1alpha2.JobSet) {
		spec := &js.Spec.ReplicatedJobs[0].Template.Spec
		spec.Parallelism, spec.Completions = &to, &to
	})
}

func (w *world) sizes() string {
	w.Helper()
	var sizes string
	for _, job := range w.jobs() {
		sizes += fmt.Sprintf("%s:%d/%d ", job.Name, ptr.Deref(job.Spec.Parallelism, 0), ptr.Deref(job.Spec.Completions, 0))
	}
	return sizes
}

func TestJobsFollowTheSizeOfTheirReplicatedJob(t *testing.T) {
	w := newWorld(t)
	w.create(MakeJobSet("a").Workers(3))
	w.awaitJobs("a-workers-0@0", "a-workers-1@0", "a-workers-2@0")
	w.succeed("a-workers-2")
	w.Eventually(func() string {
		return sandbox.Differs("condition", "Running=False/WaitingForJobs", sandbox.ConditionOf(w.jobSet("a").Status.Conditions, "Running"))
	})
	uid := w.job("a-workers-0").UID
	w.resize(4)
	w.Eventually(func() string {
		return sandbox.Differs("sizes", "a-workers-0:4/4 a-workers-1:4/4 a-workers-2:1/1 ", w.sizes()) // the Job that has finished keeps its size
	})
	w.resize(2)
	w.Eventually(func() string {
		return sandbox.Differs("sizes", "a-workers-0:2/2 a-workers-1:2/2 a-workers-2:1/1 ", w.sizes())
	})
	if w.job("a-workers-0").UID != uid {
		t.Error("a Job was recreated")
	}
}

func TestSizesAreKeptWithoutTheFeatureGate(t *testing.T) {
	w := newStoppedWorld(t, inject.Settings{}, policy.Features{})
	w.start()
	w.create(MakeJobSet("a").Workers(1))
	w.awaitJobs("a-workers-0@0")
	w.resize(4)
	w.Always(func() string { return sandbox.Differs("sizes", "a-workers-0:1/1 ", w.sizes()) })
}
