//go:build envtest

package appwrapper

import (
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/appwrapper-controller/api/v1beta2"
	. "github.com/holdfast-project/holdfast/appwrapper-controller/internal/testing/wrappers"
	"github.com/holdfast-project/holdfast/shared/testing/sandbox"
)

func TestSuspendedWorkloadCreatesNothing(t *testing.T) {
	w := newWorld(t)
	w.create(MakeAppWrapper("a").Job("j", 1).Suspend(true))
	w.awaitPhase("a", v1beta2.Suspended)
	w.Always(func() string {
		var jobs batchv1.JobList
		w.OK(w.List(w.Context(), &jobs, client.InNamespace(w.Namespace)))
		if len(jobs.Items) > 0 {
			return "there is a Job"
		}
		return ""
	})
	if aw := w.get("a"); len(aw.Finalizers) > 0 || len(aw.Status.ComponentStatus) != 1 || aw.Status.ComponentStatus[0].PodSets[0].Path != "template.spec.template" {
		t.Errorf("finalizers %v, components %v", aw.Finalizers, aw.Status.ComponentStatus)
	}
}

func TestCreateRunSucceed(t *testing.T) {
	w := newWorld(t)
	job := w.running(MakeAppWrapper("a").Job("j", 2).Service("s"), "j", "p-0", "p-1")
	aw := w.get("a")
	for _, want := range []string{"QuotaReserved=True/Resuming", "ResourcesDeployed=True/Resuming", "Unhealthy=False/FoundNoFailedPods"} {
		kind, _, _ := strings.Cut(want, "=")
		if got := sandbox.ConditionOf(aw.Status.Conditions, kind); got != want {
			t.Errorf("want %s, got %s", want, got)
		}
	}
	if job.Labels[v1beta2.AppWrapperLabel] != "a" || job.Spec.Template.Labels[v1beta2.AppWrapperLabel] != "a" || !metav1.IsControlledBy(job, aw) {
		t.Errorf("labels %v %v, owners %v", job.Labels, job.Spec.Template.Labels, job.OwnerReferences)
	}
	w.finishJob(job, batchv1.JobComplete)
	aw = w.awaitPhase("a", v1beta2.Succeeded)
	for _, want := range []string{"QuotaReserved=False/Succeeded", "ResourcesDeployed=True/Succeeded"} {
		kind, _, _ := strings.Cut(want, "=")
		if got := sandbox.ConditionOf(aw.Status.Conditions, kind); got != want {
			t.Errorf("want %s, got %s", want, got)
		}
	}
	if n := len(aw.Status.Attempts); n != 1 || aw.Status.Attempts[0].ReadyTime == nil || aw.Status.Attempts[0].Reason != "Succeeded" {
		t.Errorf("attempts %+v", aw.Status.Attempts)
	}
}

func TestFailingJobIsResetUntilRetryLimit(t *testing.T) {
	w := newWorld(t)
	job := w.running(MakeAppWrapper("a").Job("j", 1).Annotation(v1beta2.RetryLimitKey, "2"), "j", "p")
	for range 2 {
		w.finishJob(job, batchv1.JobFailed)
		w.awaitCondition("a", "Unhealthy=True/FailedComponent")
		w.sweep()
		job = w.awaitNewJob(job)
		if got := sandbox.ConditionOf(w.get("a").Status.Conditions, "QuotaReserved"); got != "QuotaReserved=True/Resuming" {
			t.Errorf("during a reset: %s", got)
		}
		w.awaitPhase("a", v1beta2.Running)
	}
	w.finishJob(job, batchv1.JobFailed)
	aw := w.awaitPhase("a", v1beta2.Failed)
	if aw.Status.Retries != 2 || len(aw.Status.Attempts) != 3 {
		t.Errorf("%d resets, attempts %+v", aw.Status.Retries, aw.Status.Attempts)
	}
	w.awaitCondition("a", "ResourcesDeployed=False/Failed")
	w.awaitCondition("a", "QuotaReserved=False/Failed")
	w.AwaitEvent("reset 2 of 2")
	w.AwaitEvent("retryLimit 2 is used up")
}

func TestFailedPodHasAGracePeriod(t *testing.T) {
	w := newWorld(t)
	job := w.running(MakeAppWrapper("a").Job("j", 1).Annotation(v1beta2.FailureGracePeriodKey, "1h"), "j", "p")
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: w.Namespace}}
	w.podPhase(pod, corev1.PodFailed, 1)
	w.awaitCondition("a", "Unhealthy=True/FoundFailedPods")
	w.Always(func() string { return sandbox.Differs("phase", "Running", string(w.get("a").Status.Phase)) })
	// The Job controller creates a replacement and keeps the failed pod for its logs.
	w.pods(job, corev1.PodRunning, "p-again")
	w.awaitCondition("a", "Unhealthy=False/FoundNoFailedPods")
	w.awaitCondition("a", "PodsReady=True/SufficientPodsReady")
}

func TestUnreplacedFailedPodCausesReset(t *testing.T) {
	w := newWorld(t)
	job := w.running(MakeAppWrapper("a").Job("j", 1).Annotation(v1beta2.FailureGracePeriodKey, "0s"), "j", "p")
	w.podPhase(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: w.Namespace}}, corev1.PodFailed, 1)
	w.awaitCondition("a", "Unhealthy=True/FoundFailedPods")
	w.sweep()
	w.awaitNewJob(job)
	if aw := w.awaitPhase("a", v1beta2.Running); aw.Status.Retries != 1 {
		t.Errorf("%d resets", aw.Status.Retries)
	}
}

func TestSuspendAndResume(t *testing.T) {
	w := newWorld(t)
	job := w.running(MakeAppWrapper("a").Job("j", 1), "j", "p")
	w.suspend("a", true)
	w.awaitPhase("a", v1beta2.Suspending)
	w.Always(func() string {
		return sandbox.Differs("quota", "QuotaReserved=True/Resuming", sandbox.ConditionOf(w.get("a").Status.Conditions, "QuotaReserved"))
	})
	w.sweep()
	w.awaitPhase("a", v1beta2.Suspended)
	w.awaitCondition("a", "QuotaReserved=False/Suspended")
	w.suspend("a", false)
	w.awaitNewJob(job)
	w.awaitPhase("a", v1beta2.Running)
}

func TestSuspendDuringReset(t *testing.T) {
	w := newWorld(t)
	job := w.running(MakeAppWrapper("a").Job("j", 1).Annotation(v1beta2.RetryPausePeriodKey, "1h"), "j", "p")
	w.finishJob(job, batchv1.JobFailed)
	w.awaitPhase("a", v1beta2.Resetting)
	w.sweep()
	w.awaitCondition("a", "ResourcesDeployed=False/Resetting")
	if got := sandbox.ConditionOf(w.get("a").Status.Conditions, "QuotaReserved"); got != "QuotaReserved=True/Resuming" {
		t.Error(got)
	}
	w.suspend("a", true)
	w.awaitPhase("a", v1beta2.Suspended)
	w.awaitCondition("a", "QuotaReserved=False/Suspended")
}

func TestComponentDeletedByUser(t *testing.T) {
	w := newWorld(t)
	job := w.running(MakeAppWrapper("a").Job("j", 1), "j", "p")
	w.OK(w.Delete(w.Context(), job, client.PropagationPolicy(metav1.DeletePropagationBackground)))
	w.awaitPhase("a", v1beta2.Failed)
	w.awaitCondition("a", "Unhealthy=True/MissingComponent")
	w.sweep()
	w.awaitCondition("a", "QuotaReserved=False/Failed")
	if n := w.get("a").Status.Retries; n != 0 {
		t.Errorf("%d resets", n)
	}
}

func TestDeletionRemovesEverything(t *testing.T) {
	w := newWorld(t)
	w.running(MakeAppWrapper("a").Job("j", 1), "j", "p")
	aw := w.get("a")
	w.OK(w.Delete(w.Context(), aw))
	w.awaitPhase("a", v1beta2.Terminating)
	w.Always(func() string {
		return sandbox.Differs("resources", "ResourcesDeployed=True/Resuming", sandbox.ConditionOf(w.get("a").Status.Conditions, "ResourcesDeployed"))
	})
	w.sweep()
	w.Eventually(func() string {
		if err := w.Get(w.Context(), client.ObjectKeyFromObject(aw), aw); !apierrors.IsNotFound(err) {
			return "the AppWrapper still exists"
		}
		return ""
	})
}

func TestForcedDeletionAfterGracePeriod(t *testing.T) {
	w := newWorld(t)
	w.running(MakeAppWrapper("a").Job("j", 1).Annotation(v1beta2.ForcefulDeletionGracePeriodKey, "500ms"), "j", "p")
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: w.Namespace}}
	w.OK(w.Get(w.Context(), client.ObjectKeyFromObject(pod), pod))
	pod.Finalizers = []string{"test.holdfast.dev/keep"}
	w.OK(w.Update(w.Context(), pod))
	w.suspend("a", true)
	w.Eventually(func() string {
		if m := w.message("a", "DeletingResources"); !strings.Contains(m, "Pod p (finalizer test.holdfast.dev/keep)") {
			return "the condition says " + m
		}
		return ""
	})
	w.AwaitEvent("DeletionForced")
	if got := sandbox.ConditionOf(w.get("a").Status.Conditions, "QuotaReserved"); got != "QuotaReserved=True/Resuming" {
		t.Error(got)
	}
	w.OK(w.Get(w.Context(), client.ObjectKeyFromObject(pod), pod))
	pod.Finalizers = nil
	w.OK(w.Update(w.Context(), pod))
	w.awaitPhase("a", v1beta2.Suspended)
}

func TestManagedByAnotherController(t *testing.T) {
	w := newWorld(t)
	w.create(MakeAppWrapper("a").Job("j", 1).Change(func(aw *v1beta2.AppWrapper) { aw.Spec.ManagedBy = new("kueue.x-k8s.io/multikueue") }))
	w.Always(func() string { return sandbox.Differs("phase", "", string(w.get("a").Status.Phase)) })
}
