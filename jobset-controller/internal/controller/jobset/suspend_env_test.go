//go:build envtest

package jobset

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	. "github.com/holdfast-project/holdfast/jobset-controller/internal/testing/wrappers"
	"github.com/holdfast-project/holdfast/shared/coordination/epoch"
	"github.com/holdfast-project/holdfast/shared/testing/sandbox"
)

const (
	patchJobSet = "patch JobSet"
	patchJob    = "patch Job"
)

// suspendedJobs returns the names of the Jobs whose spec suspends them.
func (w *world) suspendedJobs() string {
	w.Helper()
	var names []string
	for _, job := range w.jobs() {
		if ptr.Deref(job.Spec.Suspend, false) {
			names = append(names, job.Name)
		}
	}
	return strings.Join(names, " ")
}

func (w *world) awaitSuspendedJobs(want string) {
	w.Helper()
	w.Eventually(func() string { return sandbox.Differs("suspended jobs", want, w.suspendedJobs()) })
}

func TestSuspendedJobSetCreatesSuspendedJobs(t *testing.T) {
	w := newWorld(t)
	w.create(MakeJobSet("a").Workers(2).Suspend(true))
	w.awaitJobs("a-workers-0@0", "a-workers-1@0")
	w.awaitSuspendedJobs("a-workers-0 a-workers-1")
	w.awaitCondition("a", "Suspended=True/SuspendedJobs")
	want := []v1alpha2.ReplicatedJobStatus{{Name: "workers", Suspended: 2}}
	w.Eventually(func() string { return cmp.Diff(want, w.jobSet("a").Status.ReplicatedJobsStatus) })
	if before(w.Calls(), patchJobSet, patchJob) {
		t.Error("an epoch was opened for Jobs that never ran")
	}
}

func TestSuspendAndResume(t *testing.T) {
	w := newWorld(t)
	w.create(MakeJobSet("a").Workers(2))
	w.awaitJobs("a-workers-0@0", "a-workers-1@0")
	w.ready("a-workers-0")
	w.ready("a-workers-1")
	w.suspend("a", true)
	w.awaitSuspendedJobs("a-workers-0 a-workers-1")
	w.awaitCondition("a", "Suspended=True/SuspendedJobs")
	w.stopPods("a-workers-0")
	w.stopPods("a-workers-1")
	want := []v1alpha2.ReplicatedJobStatus{{Name: "workers", Suspended: 2}}
	w.Eventually(func() string { return cmp.Diff(want, w.jobSet("a").Status.ReplicatedJobsStatus) })

	w.suspend("a", false)
	w.awaitSuspendedJobs("")
	w.awaitCondition("a", "Suspended=False/ResumeJobs")
}

func TestResumedJobGetsTheTemplateOfItsAdmission(t *testing.T) {
	w := newWorld(t)
	w.create(MakeJobSet("a").Workers(1))
	w.awaitJobs("a-workers-0@0")
	w.ready("a-workers-0")
	for _, flavor := range []string{"spot", "reserved"} {
		w.suspend("a", true)
		w.awaitSuspendedJobs("a-workers-0")
		w.change("a", func(js *v1alpha2.JobSet) {
			js.Spec.Suspend = ptr.To(false)
			pod := &js.Spec.ReplicatedJobs[0].Template.Spec.Template
			pod.Labels = map[string]string{"flavor": flavor}
			pod.Spec.NodeSelector = map[string]string{flavor: "true"}
			pod.Spec.Tolerations = []corev1.Toleration{{Key: flavor, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: ptr.To[int64](5)}}
		})
		// The template cannot be changed until the Job controller has stopped the pods.
		w.Always(func() string { return sandbox.Differs("suspended jobs", "a-workers-0", w.suspendedJobs()) })
		w.stopPods("a-workers-0")
		w.awaitSuspendedJobs("")
		pod := w.job("a-workers-0").Spec.Template
		if diff := cmp.Diff(map[string]string{flavor: "true"}, pod.Spec.NodeSelector); diff != "" || len(pod.Spec.Tolerations) != 1 || pod.Labels["flavor"] != flavor {
			t.Errorf("labels %v, tolerations %v\n%s", pod.Labels, pod.Spec.Tolerations, diff)
		}
		w.ready("a-workers-0")
	}
	if got := w.eventsWith("JobUpdateFailed"); len(got) > 0 {
		t.Errorf("resumed before the API server allows it: %q", got)
	}
}

// API servers before 1.36 reject a template change for a Job that was ever started, even if it is suspended.
func TestStartTimeIsClearedFirstForOlderAPIServers(t *testing.T) {
	w := newWorld(t)
	w.create(MakeJobSet("a").Workers(2))
	w.awaitJobs("a-workers-0@0", "a-workers-1@0")
	for _, name := range []string{"a-workers-0", "a-workers-1"} {
		w.ready(name)
	}
	w.suspend("a", true)
	w.awaitSuspendedJobs("a-workers-0 a-workers-1")
	for _, name := range []string{"a-workers-0", "a-workers-1"} {
		w.stopPods(name)
	}
	w.FailOn(func(call string, object client.Object) error {
		if call != patchJob {
			return nil
		}
		var job batchv1.Job
		if err := w.Get(context.Background(), client.ObjectKeyFromObject(object), &job); err != nil || job.Status.StartTime == nil {
			return err
		}
		return apierrors.NewInvalid(batchv1.SchemeGroupVersion.WithKind("Job").GroupKind(), job.Name, nil)
	})
	w.change("a", func(js *v1alpha2.JobSet) {
		js.Spec.Suspend = ptr.To(false)
		js.Spec.ReplicatedJobs[0].Template.Spec.Template.Spec.NodeSelector = map[string]string{"spot": "true"}
	})
	w.awaitSuspendedJobs("")
	if got := w.job("a-workers-1").Spec.Template.Spec.NodeSelector["spot"]; got != "true" {
		t.Errorf("resumed with the selector %q", got)
	}
	if got := w.eventsWith("JobUpdateFailed"); len(got) > 0 {
		t.Errorf("an expected rejection is reported: %q", got)
	}
}

func TestSuspendingAGroupOpensAnEpochFirst(t *testing.T) {
	w := newWorld(t)
	w.create(MakeJobSet("a").Workers(2).MaxRestarts(5).Annotation(v1alpha2.InPlaceTimeoutKey, "60s").Annotation(v1alpha2.InPlaceRestartsKey, "2"))
	w.awaitJobs("a-workers-0@0", "a-workers-1@0")
	w.ready("a-workers-0")
	w.ready("a-workers-1")
	w.FailOn(func(call string, _ client.Object) error {
		if call == patchJob {
			return sandbox.ErrCrash
		}
		return nil
	})
	w.suspend("a", true)
	want := `{"epoch":2,"base":2,"recreate":0,"cause":"suspend/2"}`
	w.awaitEpoch("a", want)
	w.Stop()
	if got := w.suspendedJobs(); got != "" {
		t.Fatalf("suspended before the crash: %s", got)
	}
	if got := sandbox.ConditionOf(w.jobSet("a").Status.Conditions, "Suspended"); got != "Suspended is absent" {
		t.Errorf("reported as suspended too early: %s", got)
	}
	if !before(w.Calls(), patchJobSet, patchJob) {
		t.Errorf("the epoch did not come first: %v", w.Calls())
	}

	w.FailOn(nil)
	w.start()
	w.awaitSuspendedJobs("a-workers-0 a-workers-1")
	w.awaitCondition("a", "Suspended=True/SuspendedJobs")
	w.awaitEpoch("a", want) // unchanged: the crash did not open another epoch

	w.stopPods("a-workers-0")
	w.stopPods("a-workers-1")
	w.suspend("a", false)
	w.awaitSuspendedJobs("")
	if got := w.job("a-workers-1").Spec.Template.Annotations[epoch.Annotation]; got != "2" {
		t.Errorf("the pods of the resumed Job have epoch %q", got)
	}
}

func TestNoSuspendWithoutAnEpoch(t *testing.T) {
	w := newWorld(t)
	w.create(MakeJobSet("a").Workers(1).Annotation(v1alpha2.InPlaceTimeoutKey, "60s"))
	w.awaitJobs("a-workers-0@0")
	w.FailOn(func(call string, _ client.Object) error {
		if call == patchJobSet {
			return sandbox.ErrCrash
		}
		return nil
	})
	w.suspend("a", true)
	w.Always(func() string { return sandbox.Differs("suspended jobs", "", w.suspendedJobs()) })
	w.FailOn(nil)
	w.awaitSuspendedJobs("a-workers-0")
}

// The epoch was written, then the JobSet was resumed before its Jobs were stopped. Pods of the old epoch are fenced, so
// they must still be stopped.
func TestResumeBeforeTheJobsWereStoppedStillEmptiesTheGroup(t *testing.T) {
	w := newWorld(t)
	w.create(MakeJobSet("a").Workers(1).MaxRestarts(5).Annotation(v1alpha2.InPlaceTimeoutKey, "60s"))
	w.awaitJobs("a-workers-0@0")
	w.ready("a-workers-0")
	w.FailOn(func(call string, _ client.Object) error {
		if call == patchJob {
			return sandbox.ErrCrash
		}
		return nil
	})
	w.suspend("a", true)
	w.awaitEpoch("a", `{"epoch":2,"base":0,"recreate":0,"cause":"suspend/2"}`)
	w.Stop()
	w.suspend("a", false)
	w.FailOn(nil)
	w.start()
	w.awaitSuspendedJobs("a-workers-0")
	w.stopPods("a-workers-0")
	w.awaitSuspendedJobs("")
	if got := w.job("a-workers-0").Spec.Template.Annotations[epoch.Annotation]; got != "2" {
		t.Errorf("the pods of the resumed Job have epoch %q", got)
	}
}

func TestJobSetIsNotResumedBeforeItsJobs(t *testing.T) {
	w := newWorld(t)
	w.create(MakeJobSet("a").Workers(2).Suspend(true))
	w.awaitCondition("a", "Suspended=True/SuspendedJobs")
	w.FailOn(func(call string, _ client.Object) error {
		if call == patchJob {
			return sandbox.ErrCrash
		}
		return nil
	})
	w.suspend("a", false)
	w.Eventually(func() string {
		if len(w.eventsWith("JobUpdateFailed")) == 0 {
			return "no event"
		}
		return ""
	})
	w.Always(func() string { return strings.Join(w.eventsWith("ResumeJobs"), "\n") })
	w.awaitCondition("a", "Suspended=True/SuspendedJobs")
	w.FailOn(nil)
	w.awaitCondition("a", "Suspended=False/ResumeJobs")
}
