//go:build envtest

package jobset

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	. "github.com/holdfast-project/holdfast/jobset-controller/internal/testing/wrappers"
	"github.com/holdfast-project/holdfast/shared/testing/sandbox"
)

// These JobSets were not validated by a webhook, for example because they were created before it was installed. None of
// them may crash or block the controller.

func TestRejectedJobsAreReportedInACondition(t *testing.T) {
	w := newWorld(t)
	w.create(MakeJobSet("a").Workers(1).Entry("bad", 1, func(e *v1alpha2.ReplicatedJob) {
		e.Template.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyAlways
	}))
	w.awaitCondition("a", "Accepted=False/JobsRefused")
	w.awaitJobs("a-workers-0@0")
	w.annotate("a", "example.com/touched", "yes")
	w.Always(func() string {
		if got := w.eventsWith("JobCreationFailed"); len(got) > 3 { // the first attempt, and retries after 1 s and 2 s
			return strings.Join(got, "\n")
		}
		return ""
	})
	w.ready("a-workers-0")
	w.awaitCondition("a", "Running=False/WaitingForJobs")
}

// The next manager has no record of the rejection, and its own attempt to create the Jobs might fail for another
// reason.
func TestNewManagerKeepsTheReportOfRejectedJobs(t *testing.T) {
	w := newWorld(t)
	w.create(MakeJobSet("a").Workers(1).Entry("bad", 2, func(e *v1alpha2.ReplicatedJob) {
		e.Template.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyAlways
	}))
	w.awaitCondition("a", "Accepted=False/JobsRefused")
	w.Stop()
	accepted := meta.FindStatusCondition(w.jobSet("a").Status.Conditions, "Accepted")
	w.FailOn(func(call string, _ client.Object) error {
		if strings.HasPrefix(call, "create Job") {
			return sandbox.ErrCrash
		}
		return nil
	})
	w.start()
	w.annotate("a", "example.com/touched", "yes")
	w.Always(func() string {
		return cmp.Diff(accepted, meta.FindStatusCondition(w.jobSet("a").Status.Conditions, "Accepted"))
	})
	w.FailOn(nil)
	w.Always(func() string {
		return cmp.Diff(accepted, meta.FindStatusCondition(w.jobSet("a").Status.Conditions, "Accepted"))
	})
}

func TestValidPartsOfAnInvalidSpecAreApplied(t *testing.T) {
	for name, js := range map[string]*JobSet{
		"an invalid pattern": MakeJobSet("a").Workers(1).MaxRestarts(1).
			Rule(v1alpha2.FailurePolicyRule{Name: "r", Action: v1alpha2.FailJobSet, OnJobFailureMessagePatterns: []string{"("}}),
		"a coordinator that does not exist": MakeJobSet("a").Workers(1).MaxRestarts(1).
			Change(func(js *v1alpha2.JobSet) {
				js.Spec.Coordinator = &v1alpha2.Coordinator{ReplicatedJob: "x", JobIndex: -1}
			}),
		"success of an unknown replicatedJob": MakeJobSet("a").Workers(1).MaxRestarts(1).Success(v1alpha2.OperatorAll, "x"),
		"a claim without a name": MakeJobSet("a").Workers(1).MaxRestarts(1).
			Change(func(js *v1alpha2.JobSet) {
				js.Spec.VolumeClaimPolicies = []v1alpha2.VolumeClaimPolicy{{Templates: []corev1.PersistentVolumeClaim{{}}}, {}}
			}),
		"an invalid timeout": MakeJobSet("a").Workers(1).MaxRestarts(1).Annotation(v1alpha2.StuckPodTimeoutKey, "soon"),
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.create(js)
			w.awaitCondition("a", "Accepted=False/InvalidSpec")
			if strings.Contains(name, "claim") {
				return // its volume would be missing
			}
			w.awaitJobs("a-workers-0@0")
			w.fail("a-workers-0")
			w.awaitRestarts("a", 1, 1)
		})
	}
}

func TestDependencyOnAnUnknownReplicatedJobIsReported(t *testing.T) {
	w := newWorld(t)
	w.create(MakeJobSet("a").Entry("one", 1).Entry("two", 1, DependsOn("two", v1alpha2.DependencyReady)))
	w.awaitJobs("a-one-0@0")
	w.awaitCondition("a", "Accepted=False/InvalidSpec")
	w.awaitCondition("a", "Running=False/WaitingForStage")
}

func TestSpecWithoutDefaultsIsApplied(t *testing.T) {
	w := newWorld(t)
	w.create(MakeJobSet("a").Workers(1).Change(func(js *v1alpha2.JobSet) {
		js.Spec.SuccessPolicy, js.Spec.Network, js.Spec.StartupPolicy = nil, nil, nil
		js.Spec.ReplicatedJobs[0].GroupName = ""
		js.Spec.ReplicatedJobs[0].Template.Spec.Parallelism = ptr.To[int32](1)
	}))
	w.awaitJobs("a-workers-0@0")
	w.succeed("a-workers-0")
	w.awaitCondition("a", "Completed=True/AllJobsCompleted")
}
