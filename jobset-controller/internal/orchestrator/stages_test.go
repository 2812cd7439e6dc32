package orchestrator

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/epoch"
)

// plain removes the agent from the template, so that the manager has to add one.
func plain(js *v1alpha2.JobSet) {
	pod := &js.Spec.ReplicatedJobs[0].Template.Spec.Template.Spec
	pod.InitContainers, pod.Containers = nil, []corev1.Container{{Name: "worker", Command: []string{"train"}}}
}

// addAgent turns the Job into one to which the manager has added an agent.
func addAgent(job *batchv1.Job) {
	job.Annotations[v1alpha2.InPlaceInjectionKey] = "true"
	job.Labels[v1alpha2.ReplicatedJobNameKey] = "w"
	two := int32(2)
	job.Spec.Parallelism, job.Spec.Completions = &two, &two
	job.Spec.Template.Spec.Containers = []corev1.Container{{Name: "worker", Command: []string{"/holdfast/holdfast-exec", "--", "train"}}}
}

func (g *rig) changeJob(change func(*batchv1.Job)) {
	g.Helper()
	job := g.job()
	change(job)
	status := job.Status
	g.must(g.c.Update(g.ctx, job))
	if len(job.Finalizers) == 0 && !job.DeletionTimestamp.IsZero() {
		return // it has been deleted
	}
	job.Status = status
	g.must(g.c.Status().Update(g.ctx, job))
}

// removeJob completes a foreground deletion.
func (g *rig) removeJob() {
	g.Helper()
	g.changeJob(func(job *batchv1.Job) { job.Finalizers = nil })
	if err := g.c.Delete(g.ctx, g.job()); err != nil {
		g.Fatal(err)
	}
}

func (g *rig) createJob(change func(*batchv1.Job)) {
	g.Helper()
	job := childJob(g.jobSet())
	job.UID = types.UID(job.UID + "-2")
	change(job)
	if err := g.c.Create(g.ctx, job); err != nil {
		g.Fatal(err)
	}
}

// secondStep adds a replicatedJob "b" with one worker that starts when the workers of "w" are ready.
func secondStep(js *v1alpha2.JobSet) {
	b := *js.Spec.ReplicatedJobs[0].DeepCopy()
	b.Name, b.DependsOn = "b", []v1alpha2.DependsOn{{Name: "w", Status: v1alpha2.DependencyReady}}
	b.Template.Spec.Parallelism, b.Template.Spec.Completions = nil, nil
	js.Spec.ReplicatedJobs = append(js.Spec.ReplicatedJobs, b)
}

func (g *rig) wantMessage(want string) {
	g.Helper()
	c := meta.FindStatusCondition(g.jobSet().Status.Conditions, ConditionInSync)
	if c == nil || !strings.Contains(c.Message, want) {
		g.Errorf("the condition %+v does not contain %q", c, want)
	}
}

func TestOrderedStartFormsStepByStep(t *testing.T) {
	g := newRig(t, secondStep)
	g.reconcile()
	g.wantPhase(coordination.Forming, 1, 0)
	g.join(1, 1)
	g.reconcile()
	g.wantReason("InSync")
	g.wantMessage("all 2 workers have restart count 0 of generation 1; js-b has not started yet")

	g.fail("js-w-0-0", 1, 1)
	g.reconcile()
	g.wantMessage("restarting 2 workers to restart count 1 of generation 1; js-b has not started yet")
	g.joinSlot("js-b-0-0", 1, 1)
	g.join(1, 2)
	g.reconcile()
	g.wantReason("InSync")
	g.wantMessage("all 3 workers have restart count 1 of generation 1")
	g.wantCharged("1")
}

// The timeout of a restart covers only the steps that take part in it. A step that has not started does not delay the
// restart.
func TestFormingStepDoesNotTimeOutARestart(t *testing.T) {
	g := newRig(t, secondStep)
	g.reconcile()
	g.join(1, 1)
	g.waitHours(3)
	g.wantPhase(coordination.Running, 1, 0)
	g.fail("js-w-0-0", 1, 1)
	g.join(1, 2)
	g.waitHours(3)
	g.wantPhase(coordination.Running, 1, 1)
	if sum := g.group(); sum.Joined != sum.Size {
		t.Errorf("%d of %d have joined", sum.Joined, sum.Size)
	}
}

func TestFinishedGroupIsReported(t *testing.T) {
	g := formed(t)
	g.finish("js-w-0-0", "js-w-0-1")
	g.reconcile()
	g.wantPhase(coordination.Completed, 1, 0)
	g.wantReason("Completed")
	g.wantMessage("all required workers have finished with restart count 0 of generation 1")
	g.waitHours(3)
	g.wantPhase(coordination.Completed, 1, 0)
	g.wantCharged("0")
	g.wantEvents()
}

func TestPodOfAFinishedStepIsNoLoss(t *testing.T) {
	g := newRig(t, secondStep)
	g.reconcile()
	g.join(1, 1)
	g.joinSlot("js-b-0-0", 1, 1)
	g.finish("js-w-0-0", "js-w-0-1")
	g.reconcile()
	before := g.group()
	if !before.HasLeft(before.Stages[1]) || before.Size != 1 {
		t.Fatalf("the first step is still counted: %+v", before)
	}
	g.see(g.makePod(0, 0, func(pod *corev1.Pod) { pod.Status.Phase = corev1.PodFailed }), false)
	g.reconcile()
	if diff := cmp.Diff(before.Level, g.group().Level); diff != "" {
		t.Error(diff)
	}
	g.fail("js-b-0-0", 1, 1)
	g.reconcile()
	g.wantPhase(coordination.Restarting, 1, 1) // finished workers do not cause a recreation
}

// The first Job that the manager builds shows whether it adds agents.
func TestGroupIsOpenedOnceTheFirstJobHasAnAgent(t *testing.T) {
	g := newRig(t, plain)
	g.removeJob()
	g.reconcile()
	if groups, _ := g.store.Tidy(g.ctx); len(groups) != 0 {
		t.Error("a group was opened before it is known whether agents are added")
	}
	if c := meta.FindStatusCondition(g.jobSet().Status.Conditions, ConditionInSync); c != nil {
		t.Errorf("a condition was set before it is known whether agents are added: %+v", c)
	}
	g.createJob(addAgent)
	g.reconcile()
	g.wantPhase(coordination.Forming, 1, 0)
	g.wantCharged("0")
}

func TestStepsWithoutJobsCountIfTheFirstHaveAgents(t *testing.T) {
	g := newRig(t, func(js *v1alpha2.JobSet) { plain(js); secondStep(js) })
	g.changeJob(addAgent)
	g.reconcile()
	want := []coordination.Stage{
		{Prefix: "js-b", Jobs: 1, Pods: 1, Step: 1, Release: coordination.ReleaseNeeded},
		{Prefix: "js-w", Jobs: 1, Pods: 2, Release: coordination.ReleaseNeeded},
	}
	if diff := cmp.Diff(want, g.group().Stages); diff != "" {
		t.Error(diff)
	}
}

// If a group were dropped between the deletion of its Jobs and their recreation, it would lose its fences.
func TestGroupSurvivesTheRecreationOfItsJobs(t *testing.T) {
	g := newRig(t, plain)
	g.changeJob(addAgent)
	g.reconcile()
	g.join(1, 1)
	g.reconcile()
	g.change(func(js *v1alpha2.JobSet) {
		js.Annotations[epoch.Annotation] = `{"epoch":2,"base":1,"recreate":2,"cause":"timeout/1/1"}`
	})
	g.reconcile()
	g.wantPhase(coordination.Forming, 2, 0)
	incarnation := g.group().Level.Incarnation
	g.changeJob(func(job *batchv1.Job) { job.Finalizers = nil })
	g.reconcile()
	g.wantPhase(coordination.Forming, 2, 0)
	g.createJob(func(job *batchv1.Job) {
		addAgent(job)
		job.Annotations[epoch.Annotation] = "2"
	})
	g.reconcile()
	g.join(2, 1)
	g.reconcile()
	g.wantPhase(coordination.Running, 2, 0)
	if got := g.group().Level.Incarnation; got != incarnation {
		t.Error("the group was dropped and opened again")
	}
}
