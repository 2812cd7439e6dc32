//go:build envtest

package jobset

import (
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/plan"
	. "github.com/holdfast-project/holdfast/jobset-controller/internal/testing/wrappers"
	"github.com/holdfast-project/holdfast/shared/coordination/epoch"
	"github.com/holdfast-project/holdfast/shared/testing/sandbox"
)

func TestForeignJobOfTheNameIsReportedAndKept(t *testing.T) {
	w := newWorld(t)
	template := MakeJobSet("x").Workers(1).Obj().Spec.ReplicatedJobs[0].Template.Spec
	template.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
	foreign := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "a-workers-0", Namespace: w.Namespace,
		Labels: map[string]string{v1alpha2.JobSetNameKey: "a", v1alpha2.ReplicatedJobNameKey: "workers"}}, Spec: template}
	w.OK(w.Create(t.Context(), foreign))
	w.create(MakeJobSet("a").Workers(2))
	w.awaitJobs("a-workers-0@", "a-workers-1@0")
	w.ready("a-workers-1")
	w.Eventually(func() string { // each retry emits an event, and the events become a series
		got := w.eventsWith("JobCreationFailed")
		if len(got) < 2 || !strings.Contains(got[1], "job a-workers-0 exists and does not belong") {
			return strings.Join(got, "\n") + " are not two events"
		}
		return ""
	})
	w.fail("a-workers-0")
	w.Always(func() string { return sandbox.Differs("terminalState", "", w.jobSet("a").Status.TerminalState) })
	if creates := strings.Count(strings.Join(w.Calls(), "\n"), "create Job"); creates > 10 {
		t.Errorf("%d attempts to create 2 jobs", creates)
	}
}

func TestConditionsOfOtherProgramsAreKept(t *testing.T) {
	w := newWorld(t)
	w.create(MakeJobSet("a").Workers(1).MaxRestarts(1))
	w.awaitJobs("a-workers-0@0")
	w.applyAsOrchestrator("a", map[string]any{"conditions": []any{map[string]any{"type": "InPlaceRestarting", "status": "True",
		"reason": "WorkerFailed", "message": "round 2", "lastTransitionTime": "2026-01-01T00:00:00Z"}}})

	w.suspend("a", true)
	w.awaitCondition("a", "Suspended=True/SuspendedJobs")
	w.suspend("a", false)
	w.awaitCondition("a", "Suspended=False/ResumeJobs")
	w.succeed("a-workers-0")
	w.awaitCondition("a", "Completed=True/AllJobsCompleted")
	w.awaitCondition("a", "InPlaceRestarting=True/WorkerFailed")

	// The other program can still remove its condition, because the controller has not become a field manager of it.
	w.applyAsOrchestrator("a", map[string]any{})
	if got := sandbox.ConditionOf(w.jobSet("a").Status.Conditions, "InPlaceRestarting"); got != "InPlaceRestarting is absent" {
		t.Error(got)
	}
	w.awaitCondition("a", "Completed=True/AllJobsCompleted")
}

func (w *world) applyAsOrchestrator(name string, status map[string]any) {
	w.Helper()
	applied := &unstructured.Unstructured{Object: map[string]any{"status": status}}
	applied.SetGroupVersionKind(v1alpha2.GroupVersion.WithKind("JobSet"))
	applied.SetNamespace(w.Namespace)
	applied.SetName(name)
	w.OK(w.Status().Apply(w.Context(), client.ApplyConfigurationFromUnstructured(applied), client.FieldOwner("orchestrator")))
}

func TestForeignServiceIsReportedAndUsed(t *testing.T) {
	w := newWorld(t)
	foreign := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: w.Namespace}, Spec: corev1.ServiceSpec{ClusterIP: corev1.ClusterIPNone}}
	w.OK(w.Create(t.Context(), foreign))
	w.create(MakeJobSet("a").Workers(1))
	w.awaitJobs("a-workers-0@0")
	w.ready("a-workers-0")
	w.Eventually(func() string {
		if got := w.eventsWith("ForeignService"); len(got) != 1 {
			return strings.Join(got, "\n") + " is not one event"
		}
		return ""
	})
}

// The upstream controller left a status that our controller would not write. Our controller removes fields that should
// be absent, regardless of which program wrote them.
func TestStatusOfThePublishedControllerIsReplaced(t *testing.T) {
	w := newWorld(t)
	w.Stop()
	js := w.create(MakeJobSet("a").Workers(1).Suspend(true).Strategy(v1alpha2.InPlaceRestart))
	js.Status.PreviousInPlaceRestartAttempt, js.Status.CurrentInPlaceRestartAttempt = new(int32(1)), new(int32(2))
	w.OK(w.Status().Update(t.Context(), js, client.FieldOwner("published")))
	w.start()
	w.awaitCondition("a", "Suspended=True/SuspendedJobs")
	w.Eventually(func() string {
		if s := w.jobSet("a").Status; s.PreviousInPlaceRestartAttempt != nil || s.CurrentInPlaceRestartAttempt != nil {
			return "the attempts still exist"
		}
		return ""
	})
}

// The upstream controller leaves Jobs and a Service without an epoch, and the Service without labels.
func TestObjectsOfThePublishedControllerAreAdopted(t *testing.T) {
	w := newWorld(t)
	w.Stop()
	js := w.create(MakeJobSet("a").Workers(2).MaxRestarts(1))
	js.Status.Restarts, js.Status.RestartsCountTowardsMax = 3, 0
	w.OK(w.Status().Update(t.Context(), js))
	for index := range 2 {
		job := plan.NewBuilder(js, epoch.First()).Job(0, index)
		delete(job.Annotations, epoch.Annotation)
		delete(job.Spec.Template.Annotations, epoch.Annotation)
		w.OK(w.Create(t.Context(), job))
	}
	service := plan.Service(js)
	service.Labels = nil
	w.OK(w.Create(t.Context(), service))

	w.start()
	w.ready("a-workers-0")
	w.ready("a-workers-1")
	w.Eventually(func() string {
		var got corev1.Service
		w.OK(w.Get(t.Context(), client.ObjectKeyFromObject(service), &got))
		return sandbox.Differs("label of the service", "a", got.Labels[v1alpha2.JobSetNameKey])
	})
	w.Always(func() string { return sandbox.Differs("jobs", "a-workers-0@3 a-workers-1@3", w.jobNames()) })
	w.fail("a-workers-1")
	w.awaitRestarts("a", 4, 1)
	w.awaitJobs("a-workers-0@3-", "a-workers-1@3-")
}
