//go:build envtest

package jobset

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	. "github.com/holdfast-project/holdfast/jobset-controller/internal/testing/wrappers"
	"github.com/holdfast-project/holdfast/shared/testing/sandbox"
)

func TestNewJobSetGetsItsJobsAndService(t *testing.T) {
	w := newWorld(t)
	js := w.create(MakeJobSet("a").Entry("leader", 1).Workers(2))
	w.awaitJobs("a-leader-0@0", "a-workers-0@0", "a-workers-1@0")
	for _, job := range w.jobs() {
		if !metav1.IsControlledBy(&job, js) || job.Spec.Template.Spec.Subdomain != "a" {
			t.Errorf("job %s is not built as planned", job.Name)
		}
	}
	var service corev1.Service
	w.OK(w.Get(t.Context(), client.ObjectKey{Namespace: w.Namespace, Name: "a"}, &service))
	if !metav1.IsControlledBy(&service, js) || service.Spec.ClusterIP != corev1.ClusterIPNone {
		t.Errorf("the service is not built as planned: %+v", service)
	}
}

func TestSpecIsNeverWritten(t *testing.T) {
	w := newWorld(t)
	created := w.create(MakeJobSet("a").Workers(1))
	w.awaitJobs("a-workers-0@0")
	w.succeed("a-workers-0")
	w.awaitCondition("a", "Completed=True/AllJobsCompleted")
	js := w.jobSet("a")
	if diff := cmp.Diff(created.Spec, js.Spec); diff != "" || js.Generation != 1 {
		t.Errorf("generation %d\n%s", js.Generation, diff)
	}
}

func TestReadyJobsAreCounted(t *testing.T) {
	w := newWorld(t)
	w.create(MakeJobSet("a").Workers(2).Entry("other", 1))
	w.awaitJobs("a-other-0@0", "a-workers-0@0", "a-workers-1@0")
	w.ready("a-workers-1")
	want := []v1alpha2.ReplicatedJobStatus{{Name: "workers", Ready: 1, Active: 1}, {Name: "other"}}
	w.Eventually(func() string { return cmp.Diff(want, w.jobSet("a").Status.ReplicatedJobsStatus) })
}

func TestCompleteJobSetKeepsOnlyFinishedJobs(t *testing.T) {
	w := newWorld(t)
	w.create(MakeJobSet("a").Entry("leader", 1).Workers(1).Success(v1alpha2.OperatorAny, "leader"))
	w.awaitJobs("a-leader-0@0", "a-workers-0@0")
	w.succeed("a-leader-0")
	w.awaitCondition("a", "Completed=True/AllJobsCompleted")
	w.awaitJobs("a-leader-0@0", "a-workers-0@0-")
	if got := w.jobSet("a").Status.TerminalState; got != "Completed" {
		t.Errorf("terminalState %q", got)
	}
	w.Eventually(func() string {
		return sandbox.Differs("events", "Normal AllJobsCompleted/Reconciling: enough jobs have succeeded to satisfy the success policy", strings.Join(w.Events(), "\n"))
	})
	w.countIs("jobset_completed_total", 1)
	w.collect("a-workers-0")
	w.Always(func() string { return sandbox.Differs("jobs", "a-leader-0@0", w.jobNames()) })
}

func TestFailedJobFailsTheJobSetWithoutAFailurePolicy(t *testing.T) {
	w := newWorld(t)
	w.create(MakeJobSet("a").Workers(2))
	w.awaitJobs("a-workers-0@0", "a-workers-1@0")
	w.fail("a-workers-1")
	w.awaitCondition("a", "Failed=True/FailedJobs")
	w.awaitJobs("a-workers-0@0-", "a-workers-1@0")
	w.countIs("jobset_failed_total", 1)
}

func TestExpiredJobSetIsDeleted(t *testing.T) {
	const ttl = 2
	w := newWorld(t)
	w.create(MakeJobSet("a").Workers(1).Change(func(js *v1alpha2.JobSet) { js.Spec.TTLSecondsAfterFinished = ptr.To[int32](ttl) }))
	w.awaitJobs("a-workers-0@0")
	w.succeed("a-workers-0")
	var last v1alpha2.JobSet
	w.Eventually(func() string {
		var js v1alpha2.JobSet
		err := w.Get(t.Context(), client.ObjectKey{Namespace: w.Namespace, Name: "a"}, &js)
		if apierrors.IsNotFound(err) || !js.DeletionTimestamp.IsZero() {
			return ""
		}
		last = js
		return "the JobSet still exists"
	})
	completed := meta.FindStatusCondition(last.Status.Conditions, "Completed")
	if completed == nil || time.Now().Before(completed.LastTransitionTime.Add(ttl*time.Second)) {
		t.Errorf("deleted too early: %v", completed)
	}
}

func TestJobSetOfAnotherControllerIsIgnored(t *testing.T) {
	w := newWorld(t)
	w.create(MakeJobSet("a").Workers(1).Change(func(js *v1alpha2.JobSet) { js.Spec.ManagedBy = ptr.To("kueue.x-k8s.io/multikueue") }))
	w.Always(func() string { return sandbox.Differs("calls", "", strings.Join(w.Calls(), " ")) })
}

func TestJobSetThatNamesThisControllerIsManaged(t *testing.T) {
	w := newWorld(t)
	w.create(MakeJobSet("a").Workers(1).Change(func(js *v1alpha2.JobSet) { js.Spec.ManagedBy = ptr.To(v1alpha2.JobSetControllerName) }))
	w.awaitJobs("a-workers-0@0")
}

func TestNoWritesWithoutChanges(t *testing.T) {
	w := newWorld(t)
	w.create(MakeJobSet("a").Workers(2))
	w.awaitJobs("a-workers-0@0", "a-workers-1@0")
	w.ready("a-workers-0")
	w.ready("a-workers-1")
	w.Eventually(func() string {
		return cmp.Diff([]v1alpha2.ReplicatedJobStatus{{Name: "workers", Ready: 2, Active: 2}}, w.jobSet("a").Status.ReplicatedJobsStatus)
	})
	before := len(w.Calls())
	w.annotate("a", "example.com/touched", "yes")
	w.Always(func() string { return sandbox.Differs("calls", "", strings.Join(w.Calls()[before:], " ")) })
}

func TestReplicatedJobsStartInOrder(t *testing.T) {
	w := newWorld(t)
	w.create(MakeJobSet("a").Entry("first", 1).Entry("second", 1).InOrder())
	w.awaitJobs("a-first-0@0")
	w.awaitCondition("a", "StartupPolicyInProgress=True/InOrderStartupPolicyInProgress")
	w.Always(func() string { return sandbox.Differs("jobs", "a-first-0@0", w.jobNames()) })
	w.ready("a-first-0")
	w.awaitJobs("a-first-0@0", "a-second-0@0")
	w.ready("a-second-0")
	w.awaitCondition("a", "StartupPolicyCompleted=True/InOrderStartupPolicyCompleted")
	w.awaitCondition("a", "StartupPolicyInProgress=False/InOrderStartupPolicyInProgress")
}

func TestReplicatedJobWaitsForItsDependencies(t *testing.T) {
	w := newWorld(t)
	w.create(MakeJobSet("a").Entry("init", 1).Entry("main", 1, DependsOn("init", v1alpha2.DependencyComplete)))
	w.awaitJobs("a-init-0@0")
	w.ready("a-init-0")
	w.Always(func() string { return sandbox.Differs("jobs", "a-init-0@0", w.jobNames()) })
	w.succeed("a-init-0")
	w.awaitJobs("a-init-0@0", "a-main-0@0")
}

func (w *world) countIs(metric string, want float64) {
	w.Helper()
	w.Eventually(func() string {
		var got float64
		families, err := w.metrics.Gather()
		w.OK(err)
		for _, f := range families {
			if f.GetName() == metric {
				for _, m := range f.GetMetric() {
					got += m.GetCounter().GetValue()
				}
			}
		}
		return cmp.Diff(want, got)
	})
}
