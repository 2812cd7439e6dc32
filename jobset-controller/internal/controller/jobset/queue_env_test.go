//go:build envtest

package jobset

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	. "github.com/holdfast-project/holdfast/jobset-controller/internal/testing/wrappers"
	"github.com/holdfast-project/holdfast/shared/testing/sandbox"
)

// admit does what Kueue does with a Job for which it has quota.
func (w *world) admit(name string) {
	w.Helper()
	job := w.job(name)
	admitted := job.DeepCopy()
	admitted.Spec.Suspend = ptr.To(false)
	w.OK(w.Patch(w.Context(), admitted, client.MergeFrom(job)))
}

func TestEachStageWaitsInItsQueue(t *testing.T) {
	w := newWorld(t)
	w.create(MakeJobSet("a").Entry("init", 1).Entry("train", 2).InOrder().Annotation(v1alpha2.StageQueueKey, "night"))
	w.awaitJobs("a-init-0@0")
	if job := w.job("a-init-0"); !ptr.Deref(job.Spec.Suspend, false) || job.Labels[v1alpha2.QueueNameLabel] != "night" {
		t.Errorf("suspend %v, labels %v", job.Spec.Suspend, job.Labels)
	}
	w.Always(func() string { return sandbox.Differs("suspended jobs", "a-init-0", w.suspendedJobs()) })
	w.admit("a-init-0")
	w.ready("a-init-0")
	w.awaitJobs("a-init-0@0", "a-train-0@0", "a-train-1@0")
	w.awaitSuspendedJobs("a-train-0 a-train-1") // the quota of the next stage is requested only now
	w.admit("a-train-1")
	w.Always(func() string { return sandbox.Differs("suspended jobs", "a-train-0", w.suspendedJobs()) })
}

// The queue manager would resume a Job that is only suspended.
func TestSuspendedJobSetReleasesTheQuotaOfItsStages(t *testing.T) {
	w := newWorld(t)
	w.create(MakeJobSet("a").Workers(2).Annotation(v1alpha2.StageQueueKey, "night"))
	w.awaitJobs("a-workers-0@0", "a-workers-1@0")
	w.admit("a-workers-0")
	w.ready("a-workers-0")
	w.suspend("a", true)
	w.awaitJobs("a-workers-0@0-", "a-workers-1@0-")
	w.collect("a-workers-0", "a-workers-1")
	w.awaitJobs()
	w.awaitCondition("a", "Suspended=True/SuspendedJobs")
	w.Always(func() string { return sandbox.Differs("jobs", "", w.jobNames()) })
	w.suspend("a", false)
	w.awaitJobs("a-workers-0@0", "a-workers-1@0")
	w.awaitSuspendedJobs("a-workers-0 a-workers-1")
	w.awaitCondition("a", "Suspended=False/ResumeJobs")
}

// Kueue adds up ready and succeeded, and evicts a JobSet whose sum stays below the number of replicas.
func TestLaterStageDoesNotKeepAQueuedJobSetUnready(t *testing.T) {
	w := newWorld(t)
	w.create(MakeJobSet("a").Entry("init", 1).Entry("train", 2).InOrder().Change(func(js *v1alpha2.JobSet) {
		js.Labels = map[string]string{v1alpha2.QueueNameLabel: "night"}
	}))
	w.awaitJobs("a-init-0@0")
	w.awaitCounts("init 0/0, train 2/0")
	w.ready("a-init-0")
	w.awaitJobs("a-init-0@0", "a-train-0@0", "a-train-1@0")
	w.awaitCounts("init 1/1, train 0/0") // the stage has started, so its actual count is reported
	w.ready("a-train-0")
	w.awaitCounts("init 1/1, train 1/1")
	w.suspend("a", true)
	w.awaitSuspendedJobs("a-init-0 a-train-0 a-train-1")
}

// awaitCounts waits until the counts of all replicatedJobs are as given, each in the form "replicatedJob ready/active".
func (w *world) awaitCounts(want string) {
	w.Helper()
	w.Eventually(func() string {
		var all []string
		for _, s := range w.jobSet("a").Status.ReplicatedJobsStatus {
			all = append(all, s.Name+" "+string('0'+rune(s.Ready))+"/"+string('0'+rune(s.Active)))
		}
		return cmp.Diff(want, strings.Join(all, ", "))
	})
}
