package orchestrator

import (
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/recovering"
)

func (g *rig) wantMark(want string) {
	g.Helper()
	js := g.jobSet()
	if got := js.Annotations[recovering.Annotation]; got != want {
		g.Errorf("%s is %q, want %q", recovering.Annotation, got, want)
	}
	c := meta.FindStatusCondition(js.Status.Conditions, ConditionRecovering)
	if (c != nil) != (want != "") {
		g.Errorf("condition %+v with the annotation %q", c, want)
	}
}

func TestRestartIsMarkedWithThreeWrites(t *testing.T) {
	g := formed(t)
	before := g.patches.n.Load()
	g.fail("js-w-0-1", 1, 1)
	g.reconcile()
	g.wantMark(`{"level":2,"reason":"worker js-w-0-1 exited with code 1","deadline":"1970-01-01T00:17:40Z"}`)
	g.pass(time.Second)
	g.join(1, 2)
	g.pass(time.Second)
	g.wantMark("")
	g.wantCharged("1")
	g.reconcile()
	if got := g.patches.n.Load() - before; got != 3 {
		t.Errorf("%d writes to the JobSet, want 3: the charge with the mark, the end of the mark, the history", got)
	}
}

func TestCompletedRestartIsNotMarked(t *testing.T) {
	g := formed(t)
	before := g.patches.n.Load()
	g.fail("js-w-0-1", 1, 1)
	g.join(1, 2)
	g.reconcile()
	g.wantMark("")
	g.wantCharged("1")
	if got := g.patches.n.Load() - before; got != 2 {
		t.Errorf("%d writes to the JobSet, want 2: the charge and the history", got)
	}
}

func TestNextRestartMovesTheDeadline(t *testing.T) {
	g := formed(t)
	g.fail("js-w-0-1", 1, 1)
	g.reconcile()
	g.join(1, 2)
	g.fail("js-w-0-0", 1, 2)
	g.pass(30 * time.Second)
	g.wantMark(`{"level":2,"reason":"worker js-w-0-0 exited with code 1","deadline":"1970-01-01T00:18:10Z"}`)
}

func TestNewLeaderKeepsTheMarkUntilItsDeadline(t *testing.T) {
	g := formed(t)
	g.fail("js-w-0-1", 1, 1)
	g.reconcile()
	g.clock.SetTime(g.clock.Now().Add(50 * time.Second))
	g.r = g.leader(2) // the new leader's timeout for the restart starts now
	g.reconcile()
	g.wantMark(`{"level":2,"reason":"worker js-w-0-1 exited with code 1","deadline":"1970-01-01T00:17:40Z"}`)
	g.pass(20 * time.Second)
	g.wantMark(`{"level":2,"reason":"worker js-w-0-1 exited with code 1","deadline":"1970-01-01T00:18:30Z"}`)
}

func TestMarkIsRemovedWithTheRestart(t *testing.T) {
	cases := map[string]func(*rig){
		"the annotation is removed": func(g *rig) {
			g.change(func(js *v1alpha2.JobSet) { delete(js.Annotations, v1alpha2.InPlaceTimeoutKey) })
		},
		"it is unreadable and the group in sync": func(g *rig) {
			g.change(func(js *v1alpha2.JobSet) { js.Annotations[recovering.Annotation] = "soon" })
			g.join(1, 2)
		},
	}
	for name, end := range cases {
		t.Run(name, func(t *testing.T) {
			g := formed(t)
			g.fail("js-w-0-1", 1, 1)
			g.reconcile()
			end(g)
			g.reconcile()
			g.reconcile()
			g.wantMark("")
		})
	}
}

func TestMarkOfAnotherLevelIsKept(t *testing.T) {
	g := formed(t)
	other := `{"level":6,"reason":"x","deadline":"2030-01-01T00:00:00Z"}`
	g.change(func(js *v1alpha2.JobSet) { js.Annotations[recovering.Annotation] = other })
	g.reconcile()
	if got := g.jobSet().Annotations[recovering.Annotation]; got != other {
		t.Errorf("it is %q", got)
	}
	g.wantPhase(coordination.Running, 1, 0)
}

func TestRecreationIsMarkedUntilTheGroupHasFormed(t *testing.T) {
	g := formed(t)
	g.fail("js-w-0-1", 1, 1)
	g.reconcile()
	g.clock.SetTime(g.clock.Now().Add(61 * time.Second))
	g.reconcile()
	g.reconcile()
	mark := `{"level":5,"reason":"in-place restart 1 timed out after 1m0s: 0 of 2 workers joined; missing: js-w-0-0, js-w-0-1","deadline":"1970-01-01T00:22:41Z"}`
	g.wantMark(mark)
	if c := meta.FindStatusCondition(g.jobSet().Status.Conditions, ConditionRecovering); c.Reason != "FailingOver" {
		t.Errorf("the condition is %+v", c)
	}
	g.pass(time.Minute)
	g.wantMark(mark)
	g.pass(5 * time.Minute) // the pod does not terminate, but nothing is waiting for it any more
	g.wantMark("")
}

func TestMarkOfARecreationIsRemovedWhenItsWorkersRun(t *testing.T) {
	g := formed(t)
	g.fail("js-w-0-1", 1, 1)
	g.reconcile()
	g.clock.SetTime(g.clock.Now().Add(61 * time.Second))
	g.reconcile()
	g.join(2, 1)
	g.pass(time.Second)
	g.wantPhase(coordination.Running, 2, 0)
	g.wantMark("")
}

func TestDeathAfterARecreationMovesTheMark(t *testing.T) {
	g := formed(t)
	g.change(func(js *v1alpha2.JobSet) { js.Spec.FailurePolicy.MaxRestarts = 9 })
	g.reconcile()
	g.fail("js-w-0-1", 1, 1)
	g.reconcile()
	g.clock.SetTime(g.clock.Now().Add(61 * time.Second))
	g.reconcile()
	g.join(2, 1)
	g.fail("js-w-0-0", 2, 1) // before the leader has observed that all workers are running
	g.reconcile()
	g.wantMark(`{"level":2,"reason":"worker js-w-0-0 exited with code 1","deadline":"1970-01-01T00:18:41Z"}`)
}

func TestLevelDependsOnTheDriver(t *testing.T) {
	cases := map[string]struct {
		pod  corev1.PodSpec
		want bool
	}{
		"a sidecar restarts containers":   {corev1.PodSpec{InitContainers: []corev1.Container{{Args: []string{"--worker-jobset-uid=x"}}}}, true},
		"a supervisor restarts processes": {corev1.PodSpec{Containers: []corev1.Container{{Command: []string{"/holdfast/holdfast-exec"}}}}, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			job := jobOf("js", &batchv1.Job{Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: tc.pod}}}, true)
			if job.Sidecar != tc.want {
				t.Errorf("a sidecar: %t, want %t", job.Sidecar, tc.want)
			}
		})
	}
}
