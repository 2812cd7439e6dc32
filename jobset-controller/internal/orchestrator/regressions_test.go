package orchestrator

import (
	"strconv"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/epoch"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
	"github.com/holdfast-project/holdfast/shared/coordination/simulation/grouptest"
)

// job returns the child Job.
func (g *rig) job() *batchv1.Job {
	g.Helper()
	job := &batchv1.Job{}
	if err := g.c.Get(g.ctx, types.NamespacedName{Namespace: "ns", Name: "js-w-0"}, job); err != nil {
		g.Fatal(err)
	}
	return job
}

func (g *rig) finishWorker0() {
	g.Helper()
	job := g.job()
	job.Labels[v1alpha2.ReplicatedJobNameKey], job.Labels[v1alpha2.JobIndexKey], job.Labels[v1alpha2.RestartsKey] = "w", "0", "0"
	job.Spec.Parallelism, job.Spec.Completions = ptr.To[int32](2), ptr.To[int32](2)
	if err := g.c.Update(g.ctx, job); err != nil {
		g.Fatal(err)
	}
	job.Status.CompletedIndexes = "0"
	if err := g.c.Status().Update(g.ctx, job); err != nil {
		g.Fatal(err)
	}
}

// waitHours advances the clock by n hours, and reconciles after each of them.
func (g *rig) waitHours(n int) {
	g.Helper()
	for range n {
		g.clock.SetTime(g.clock.Now().Add(time.Hour))
		g.reconcile()
	}
}

func TestRevokedSuspendFencesNoPod(t *testing.T) {
	g := formed(t)
	g.change(func(js *v1alpha2.JobSet) { js.Spec.Suspend = ptr.To(true) })
	g.reconcile()
	g.wantPhase(coordination.Closed, 1, 0)
	g.change(func(js *v1alpha2.JobSet) { js.Spec.Suspend = nil })
	g.reconcile()
	g.join(1, 1) // the pods were never stopped
	g.wantPhase(coordination.Running, 1, 0)
}

func TestGroupFormsWithoutFinishedWorkers(t *testing.T) {
	g := formed(t)
	g.finishWorker0()
	g.change(func(js *v1alpha2.JobSet) {
		js.Spec.Suspend = ptr.To(true)
		js.Annotations[epoch.Annotation] = `{"epoch":2,"base":0,"recreate":0,"cause":"suspend/2"}`
	})
	g.reconcile()
	g.change(func(js *v1alpha2.JobSet) { js.Spec.Suspend = nil })
	g.reconcile()
	g.joinSlot("js-w-0-1", 2, 1)
	g.wantPhase(coordination.Running, 2, 0)
}

func TestWorkerThatFinishesWhileFormingCounts(t *testing.T) {
	g := newRig(t, nil)
	g.reconcile()
	g.joinSlot("js-w-0-1", 1, 1)
	g.wantPhase(coordination.Forming, 1, 0)
	g.finishWorker0()
	g.reconcile()
	g.wantPhase(coordination.Running, 1, 0)
}

func TestDeathAfterDataLossIsRecovered(t *testing.T) {
	g := formed(t)
	g.store.Wipe()
	g.reconcile()
	g.joinSlot("js-w-0-0", 1, 1)
	g.fail("js-w-0-0", 1, 1)
	g.joinSlot("js-w-0-0", 1, 2)
	g.reconcile()
	g.wantPhase(coordination.Restarting, 1, 0)
	g.waitHours(2)
	g.wantPhase(coordination.Forming, 2, 0)
}

func TestDataLossStopsNoWorker(t *testing.T) {
	g := formed(t)
	g.store.Wipe()
	g.reconcile()
	g.waitHours(2)
	g.joinSlot("js-w-0-0", 1, 1)
	g.waitHours(100)
	g.wantPhase(coordination.Restarting, 1, 0)
	g.joinSlot("js-w-0-1", 1, 1)
	g.reconcile()
	g.wantPhase(coordination.Running, 1, 0)
	g.wantCharged("0")
}

func TestRestartsBeforeTheAnnotationCount(t *testing.T) {
	g := newRig(t, func(js *v1alpha2.JobSet) { js.Status.Restarts, js.Status.RestartsCountTowardsMax = 2, 2 })
	g.reconcile()
	if l := g.group().Limit; l != 0 {
		t.Errorf("two of two restarts are charged, and the group may restart %d more times", l)
	}
	g.wantCharged("2")
}

func TestJobSetOfAnotherControllerIsIgnored(t *testing.T) {
	g := newRig(t, func(js *v1alpha2.JobSet) { js.Spec.ManagedBy = ptr.To("kueue.x-k8s.io/multikueue") })
	g.reconcile()
	if _, err := grouptest.Read(g.ctx, g.store, uid); err == nil {
		t.Error("a group was opened")
	}
}

func TestChangedJobSetDoesNotResizeItsJobs(t *testing.T) {
	g := formed(t)
	g.finishWorker0() // gives the Job its labels and size
	g.change(func(js *v1alpha2.JobSet) {
		s := &js.Spec.ReplicatedJobs[0].Template.Spec
		s.Parallelism, s.Completions = ptr.To(int32(3)), ptr.To(int32(3))
	})
	g.reconcile()
	g.wantPhase(coordination.Running, 1, 0)
}

func TestNoJobIsDeletedOnceTheBudgetIsUsedUp(t *testing.T) {
	g := formed(t)
	g.change(func(js *v1alpha2.JobSet) { js.Annotations[v1alpha2.InPlaceRestartsKey] = "2" })
	g.reconcile()
	g.fail("js-w-0-0", 1, 1)
	g.reconcile()
	g.waitHours(1)
	g.wantCharged("3")
	if !g.job().DeletionTimestamp.IsZero() {
		t.Error("the Job is deleted although the JobSet fails")
	}
}

func TestStoreOutageDoesNotAffectOtherJobSets(t *testing.T) {
	g := newRig(t, func(js *v1alpha2.JobSet) { js.Annotations = nil })
	g.store.SetReachable(false)
	if next := g.reconcile(); next != 0 {
		t.Errorf("a JobSet without the annotation is reconciled again after %s", next)
	}
}

func TestFinishedWorkersOfAnEarlierAttemptDoNotCount(t *testing.T) {
	g := formed(t)
	g.finishWorker0()
	g.change(func(js *v1alpha2.JobSet) {
		js.Annotations[epoch.Annotation] = `{"epoch":2,"base":1,"recreate":0,"cause":"recreate/1"}`
	})
	js := g.jobSet()
	js.Status.Restarts, js.Status.RestartsCountTowardsMax = 1, 1
	if err := g.c.Status().Update(g.ctx, js); err != nil {
		t.Fatal(err)
	}
	if err := g.c.Delete(g.ctx, g.job()); err != nil { // in the foreground, so it exists a while longer
		t.Fatal(err)
	}
	g.store.Wipe()
	g.reconcile()
	g.join(2, 1)
	g.wantPhase(coordination.Running, 2, 0)
}

func TestStaleCacheDoesNotReportARestartTwice(t *testing.T) {
	g := formed(t)
	g.fail("js-w-0-0", 1, 1)
	g.reconcile()
	stale := g.jobSet().Status.Conditions
	g.join(1, 2)
	g.reconcile()
	g.wantEvents("restarting all 2 workers", "all 2 workers are running again")
	js := g.jobSet()
	js.Status.Conditions = stale
	if err := g.c.Status().Update(g.ctx, js); err != nil {
		t.Fatal(err)
	}
	g.reconcile()
	g.wantReason("InSync")
	g.wantEvents()
}

func TestRefusalIsReportedForAGroupWith(t *testing.T) {
	cases := map[string]struct {
		change func(*v1alpha2.JobSet)
		says   string
	}{
		"no agent": {
			change: func(js *v1alpha2.JobSet) {
				plain(js)
				js.Annotations[v1alpha2.InPlaceDriverKey] = "none"
			},
			says: "no pod of this JobSet has an agent",
		},
		"an agent that cannot be added": {
			change: func(js *v1alpha2.JobSet) {
				plain(js)
				js.Spec.ReplicatedJobs[0].Template.Spec.Template.Spec.Containers[0].Command = nil
			},
			says: "no agent can be added to the pods: spec.replicatedJobs[0].template.spec.template.spec.containers[0].command: Required value",
		},
		"workers that run without agents": {
			change: plain,
			says:   "the Jobs were created without agents; agents are added when they are recreated",
		},
		"more steps than the store supports": {
			change: func(js *v1alpha2.JobSet) {
				for i := range rounds.MaxUnits {
					js.Spec.ReplicatedJobs = append(js.Spec.ReplicatedJobs, *js.Spec.ReplicatedJobs[0].DeepCopy())
					js.Spec.ReplicatedJobs[i+1].Name = "w" + strconv.Itoa(i)
				}
				js.Spec.StartupPolicy = &v1alpha2.StartupPolicy{StartupPolicyOrder: v1alpha2.InOrder}
			},
			says: "the stages have 65 combinations of step and release; restarts in place support 64",
		},
		"more workers than the store supports": {
			change: func(js *v1alpha2.JobSet) { js.Spec.ReplicatedJobs[0].Replicas = 1 << 20 },
			says:   "exceed the limit",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			isRefused(t, tc.change, tc.says)
		})
	}
}

// isRefused checks that a JobSet has no group, and that the condition gives the reason.
func isRefused(t *testing.T, change func(*v1alpha2.JobSet), why string) {
	t.Helper()
	g := newRig(t, change)
	g.reconcile()
	g.wantReason("NotPossible")
	c := meta.FindStatusCondition(g.jobSet().Status.Conditions, ConditionInSync)
	if !strings.Contains(c.Message, why) {
		t.Errorf("the condition is %q", c.Message)
	}
	if groups, _ := g.store.Tidy(g.ctx); len(groups) != 0 {
		t.Error("a group was opened")
	}
}
