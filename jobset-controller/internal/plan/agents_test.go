package plan

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/inplace"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/plan/inject"
	. "github.com/holdfast-project/holdfast/jobset-controller/internal/testing/wrappers"
	"github.com/holdfast-project/holdfast/shared/bootstrap/supervise"
	"github.com/holdfast-project/holdfast/shared/coordination/epoch"
)

// oneAnnotation returns a JobSet that requests in-place restarts and does not include an agent.
func oneAnnotation() *JobSet {
	return MakeJobSet("js").Annotation(v1alpha2.InPlaceTimeoutKey, "60s").Entry("workers", 2, func(e *v1alpha2.ReplicatedJob) {
		e.Template.Spec.Template.Spec.Containers[0].Command = []string{"python", "train.py"}
	})
}

func withAgents(js *JobSet, current ...*batchv1.Job) *Builder {
	settings := inject.Settings{Store: supervise.Store{Address: "valkey:6379"}, ExecImage: "exec"}
	b := NewBuilder(js.Obj(), epoch.First())
	b.Agents = inject.For(inject.Assess(js.Obj()), current, settings)
	return b
}

func TestEachJobGetsAnAgent(t *testing.T) {
	js := oneAnnotation()
	before := js.DeepCopy()
	for index := range 2 {
		job := withAgents(js).Job(0, index)
		if !inplace.HasAgent(&job.Spec.Template.Spec) || job.Annotations[v1alpha2.InPlaceInjectionKey] != "true" {
			t.Errorf("job %s has no agent", job.Name)
		}
		if job.Spec.Template.Spec.RestartPolicy != corev1.RestartPolicyOnFailure || *job.Spec.BackoffLimit != 1<<31-1 {
			t.Errorf("restarts would make job %s fail", job.Name)
		}
	}
	if diff := cmp.Diff(before, js.Obj()); diff != "" {
		t.Errorf("the JobSet was changed: %s", diff)
	}
}

// The agent's image may be in a registry that the JobSet's author does not know about.
func TestPodsWithAgentGetPullSecrets(t *testing.T) {
	js := oneAnnotation()
	js.Spec.ReplicatedJobs[0].Template.Spec.Template.Spec.ImagePullSecrets = []corev1.LocalObjectReference{{Name: "own"}, {Name: "both"}}
	settings := inject.Settings{Store: supervise.Store{Address: "valkey:6379"}, ExecImage: "exec", PullSecrets: []string{"both", "agents"}}
	builder := NewBuilder(js.Obj(), epoch.First())
	builder.Agents = inject.For(inject.Assess(js.Obj()), nil, settings)
	job := builder.Job(0, 0)
	want := []corev1.LocalObjectReference{{Name: "own"}, {Name: "both"}, {Name: "agents"}}
	if diff := cmp.Diff(want, job.Spec.Template.Spec.ImagePullSecrets); diff != "" {
		t.Errorf("pull Secrets (-want +got):\n%s", diff)
	}
	if before := js.Obj().Spec.ReplicatedJobs[0].Template.Spec.Template.Spec.ImagePullSecrets; len(before) != 2 {
		t.Errorf("the JobSet was changed: %v", before)
	}
}

// Resuming a Job does not change containers or volumes, and therefore does not change its agent. A Job with an agent is
// resumed like any other. Its tolerations follow the JobSet.
func TestResumeKeepsTheAgent(t *testing.T) {
	js := oneAnnotation()
	current := withAgents(js).Job(0, 0)
	resumed, differs := Resume(current, withAgents(js).Job(0, 0))
	if differs {
		t.Error("the template differs")
	}
	if diff := cmp.Diff(current.Spec.Template, resumed.Spec.Template); diff != "" || resumed.Annotations[v1alpha2.InPlaceInjectionKey] != "true" {
		t.Error(diff)
	}
	without := build(js, 0, 0)
	resumed, _ = Resume(without, withAgents(js).Job(0, 0))
	if inplace.HasAgent(&resumed.Spec.Template.Spec) {
		t.Error("a Job without an agent was given one that it cannot take")
	}
}

func TestJobsThatBringAnAgentAreUnchanged(t *testing.T) {
	js := oneAnnotation()
	templateOf(js).Spec.Containers[0].Command = []string{"holdfast-exec", "--", "python"}
	if diff := cmp.Diff(build(js, 0, 0), withAgents(js).Job(0, 0)); diff != "" {
		t.Error(diff)
	}
}
