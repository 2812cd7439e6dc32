//go:build envtest

package published

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	theirs "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	. "github.com/holdfast-project/holdfast/jobset-controller/internal/testing/wrappers"
	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/epoch"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
	"github.com/holdfast-project/holdfast/shared/testing/sandbox"
)

func TestBesideWorkerDeathsRestartInPlaceUntilTheBudgetIsUsedUp(t *testing.T) {
	g := newGuest(t)
	runTheirs(t)
	g.run(asking(1))
	g.die("a-workers-1-0")
	g.awaitAnnotation(v1alpha2.InPlaceRestartsKey, "1")
	g.rejoin("a-workers-0-0", "a-workers-1-0")
	g.awaitCondition(inSync + "=True/InSync")
	if got := g.names(); got != "a-workers-0@0 a-workers-1@0" {
		t.Errorf("the Jobs were recreated: %s", got)
	}
	g.die("a-workers-0-0")
	g.awaitAnnotation(v1alpha2.InPlaceRestartsKey, "2")
	g.awaitCondition("Failed=True/ReachedMaxRestarts")
	g.awaitJobs("a-workers-0@0- a-workers-1@0-") // deleted by the upstream controller
	g.eventually(func() string { return sandbox.Differs("terminal state", "Failed", g.jobSet().Status.TerminalState) })
}

func TestBesideRestartThatTimesOutRecreatesAllJobs(t *testing.T) {
	g := newGuest(t)
	runTheirs(t)
	g.run(asking(3).Annotation(v1alpha2.InPlaceTimeoutKey, "2s"))
	before := g.jobs()
	g.die("a-workers-1-0") // and no worker comes back
	g.eventually(func() string {
		g.collectAll()
		for _, job := range g.jobs() {
			if slices.ContainsFunc(before, func(old batchv1.Job) bool { return old.UID == job.UID }) || job.Annotations[epoch.Annotation] != "2" {
				return fmt.Sprintf("%s is the previous Job, or has epoch %q", job.Name, job.Annotations[epoch.Annotation])
			}
		}
		return sandbox.Differs("jobs", "a-workers-0@0 a-workers-1@0", g.names())
	})
	g.makePods("a-workers-0", "a-workers-1")
	g.awaitCondition(inSync + "=True/InSync")
	g.awaitAnnotation(v1alpha2.InPlaceRestartsKey, "2") // one for the restart and one for the recreation
	if n := g.jobSet().Status.Restarts; n != 0 {
		t.Errorf("the upstream controller counts %d restarts", n)
	}
}

func TestBesideRecreationByThePublishedControllerIsFollowed(t *testing.T) {
	g := newGuest(t)
	runTheirs(t)
	g.run(asking(3))
	g.fail("a-workers-0")
	g.eventually(func() string {
		g.collectAll()
		return sandbox.Differs("jobs", "a-workers-0@1 a-workers-1@1", g.names())
	})
	g.makePods("a-workers-0", "a-workers-1")
	g.awaitCondition(inSync + "=True/InSync")
	g.awaitAnnotation(v1alpha2.InPlaceRestartsKey, "1")
}

func TestBesideSuspendedJobSetIsResumedInTheNextEpoch(t *testing.T) {
	g := newGuest(t)
	runTheirs(t)
	g.run(asking(3))
	g.change(func(js *theirs.JobSet) { js.Spec.Suspend = ptr.To(true) })
	g.awaitJobs("a-workers-0@0z a-workers-1@0z")
	g.removePods("")
	g.awaitCondition(inSync + "=False/Suspended")
	g.eventually(func() string {
		for _, job := range g.jobs() {
			if got := job.Spec.Template.Annotations[epoch.Annotation]; got != "2" {
				return fmt.Sprintf("the pods of %s would have epoch %q", job.Name, got)
			}
		}
		return ""
	})
	g.change(func(js *theirs.JobSet) { js.Spec.Suspend = ptr.To(false) })
	g.awaitJobs("a-workers-0@0 a-workers-1@0")
	g.makePods("a-workers-0", "a-workers-1")
	g.awaitCondition(inSync + "=True/InSync")
	g.awaitAnnotation(v1alpha2.InPlaceRestartsKey, "0")
}

func TestBesideGroupThatTheWebhookMissedIsReported(t *testing.T) {
	g := newGuest(t)
	stopTheirs := runTheirs(t)
	g.stop() // this also stops its webhook, which fails open
	g.create(asking(1))
	g.awaitJobs("a-workers-0@0 a-workers-1@0")
	stopTheirs()
	g.start()
	g.awaitCondition(inSync + "=False/NotPossible")
	g.ok(g.core.BatchV1().Jobs(g.namespace).Delete(g.Context(), "a-workers-1", metav1.DeleteOptions{PropagationPolicy: ptr.To(metav1.DeletePropagationBackground)}))
	runTheirs(t)
	g.awaitJobs("a-workers-0@0 a-workers-1@0")
	for _, job := range g.jobs() {
		if by := job.Annotations[v1alpha2.LedByKey]; by != "" {
			t.Errorf("%s of a group without agents is prepared by %s", job.Name, by)
		}
	}
	if by := g.jobSet().Annotations[v1alpha2.LedByKey]; by != "" {
		t.Errorf("the JobSet is claimed by %s", by)
	}
}

func TestBesidePartlyPreparedGroupRunsWithoutAgents(t *testing.T) {
	g := newGuest(t)
	runTheirs(t)
	g.create(asking(1))
	g.awaitJobs("a-workers-0@0 a-workers-1@0")
	g.awaitAnnotation(v1alpha2.LedByKey, guestName)
	// Change one Job so that it looks as if the webhook had missed it.
	job, err := g.core.BatchV1().Jobs(g.namespace).Get(g.Context(), "a-workers-1", metav1.GetOptions{})
	g.ok(err)
	delete(job.Annotations, v1alpha2.LedByKey)
	_, err = g.core.BatchV1().Jobs(g.namespace).Update(g.Context(), job, metav1.UpdateOptions{})
	g.ok(err)
	g.ok(g.core.BatchV1().Jobs(g.namespace).Delete(g.Context(), "a-workers-0", metav1.DeleteOptions{PropagationPolicy: ptr.To(metav1.DeletePropagationBackground)}))
	g.eventually(func() string {
		g.collectAll()
		for _, job := range g.jobs() {
			if job.Annotations[v1alpha2.LedByKey] != "" {
				return job.Name + " is prepared"
			}
		}
		return sandbox.Differs("jobs", "a-workers-0@0 a-workers-1@0", g.names())
	})
	g.awaitCondition(inSync + "=False/NotPossible")
}

func TestNothingIsPreparedBesideOurOwnController(t *testing.T) {
	g := newGuest(t)
	runOurs(t, "--inplace-store-address=other:6379", "--inplace-exec-image=exec:2")
	g.create(asking(1))
	g.awaitJobs("a-workers-0@0 a-workers-1@0")
	for _, job := range g.jobs() {
		images := job.Spec.Template.Spec.InitContainers
		if len(images) != 1 || images[0].Image != "exec:2" || job.Annotations[v1alpha2.LedByKey] != "" {
			t.Errorf("%s: %+v", job.Name, job.Annotations)
		}
	}
	time.Sleep(2 * time.Second)
	js := g.jobSet()
	if js.Annotations[v1alpha2.LedByKey] != "" || meta.FindStatusCondition(js.Status.Conditions, inSync) != nil {
		t.Errorf("the guest leads the JobSet: %v %v", js.Annotations, js.Status.Conditions)
	}
}

// An upgrade replaces the orchestrator and its webhook while groups are running. Failures that occur between the two
// leaders or after the upgrade restart the groups in place. A pod that is recreated afterwards has the new agent.
func TestUpgradeKeepsRunningGroups(t *testing.T) {
	g := newGuest(t)
	runTheirs(t)
	g.run(asking(3))
	declared := &guest{cluster: g.cluster, name: g.name, store: g.store}
	pods := declared.runMembers()
	g.upgrade()
	g.die("a-workers-1-0")
	declared.dieAt(memberSlots[1], pods[1])
	g.awaitAnnotation(v1alpha2.InPlaceRestartsKey, "1")
	declared.awaitRestartsOf("train-0", "1")
	g.rejoin("a-workers-0-0", "a-workers-1-0")
	g.awaitCondition(inSync + "=True/InSync")
	declared.joinMembers(pods)

	g.die("a-workers-0-0")
	g.awaitAnnotation(v1alpha2.InPlaceRestartsKey, "2")
	g.rejoin("a-workers-0-0", "a-workers-1-0")
	g.awaitCondition(inSync + "=True/InSync")
	g.awaitJobs("a-workers-0@0 a-workers-1@0")
	g.awaitWebhook()
	g.ok(g.core.CoreV1().Pods(g.namespace).Delete(t.Context(), "train-1", metav1.DeleteOptions{}))
	declared.awaitRestartsOf("train-0", "2")
	first := pods[0].UID
	pods[1] = declared.createMember(member(1))
	declared.joinMembers(pods)
	if image := pods[1].Spec.InitContainers[0].Image; image != "exec:2" || declared.leader().UID != first {
		t.Errorf("the recreated pod has the agent %s, or the group was recreated", image)
	}
}

// With two installations, each of them leads the groups that its own webhook prepared.
func TestTwoInstallationsLeadTheirOwnGroups(t *testing.T) {
	first := newGuest(t)
	runTheirs(t)
	first.run(asking(2))
	second := newGuestIn(first.cluster, "kube-public")
	pods := second.runMembers()
	if by := second.leader().Annotations[v1alpha2.LedByKey]; by != second.name {
		t.Errorf("the later group is led by %q", by)
	}
	first.awaitAnnotation(v1alpha2.LedByKey, first.name)

	first.die("a-workers-1-0")
	first.awaitAnnotation(v1alpha2.InPlaceRestartsKey, "1")
	first.rejoin("a-workers-0-0", "a-workers-1-0")
	first.awaitCondition(inSync + "=True/InSync")
	second.dieAt(memberSlots[1], pods[1])
	second.awaitRestartsOf("train-0", "1")
	second.joinMembers(pods)

	second.stop() // the first does not take over
	second.dieAt(memberSlots[1], pods[1])
	time.Sleep(2 * time.Second)
	second.awaitRestartsOf("train-0", "1")
	for group, other := range map[string]*guest{first.uid(): second, second.uid(): first} {
		if o := other.store.Observe(t.Context(), group, rounds.Slot{}); !errors.Is(o.Err, coordination.ErrNoGroup) {
			t.Errorf("%s has the group of the other installation: %v", other.name, o.Err)
		}
	}
}

func TestBesideRefusalsAreOneCondition(t *testing.T) {
	for name, js := range map[string]*JobSet{
		"a bad annotation": asking(1).Annotation(v1alpha2.InPlaceTimeoutKey, "soon"),
		"only on the pod template": MakeJobSet("a").Workers(2).Change(commanded).Change(func(js *v1alpha2.JobSet) {
			js.Spec.ReplicatedJobs[0].Template.Spec.Template.Annotations = map[string]string{v1alpha2.InPlaceTimeoutKey: "60s"}
		}),
		"the command of the image":       MakeJobSet("a").Workers(2).Annotation(v1alpha2.InPlaceTimeoutKey, "60s"),
		"restartStrategy InPlaceRestart": asking(1).Strategy(v1alpha2.InPlaceRestart),
	} {
		t.Run(name, func(t *testing.T) {
			g := newGuest(t)
			runTheirs(t)
			g.create(js)
			g.awaitCondition(inSync + "=False/NotPossible")
			for _, job := range g.jobs() {
				if job.Annotations[v1alpha2.LedByKey] != "" || len(job.Spec.Template.Spec.InitContainers) > 0 {
					t.Errorf("%s is prepared", job.Name)
				}
			}
			g.change(func(js *theirs.JobSet) {
				delete(js.Annotations, v1alpha2.InPlaceTimeoutKey)
				js.Spec.ReplicatedJobs[0].Template.Spec.Template.Annotations = nil
			})
			g.eventually(func() string { // it no longer requests anything
				return sandbox.Differs("condition", inSync+" is absent", sandbox.ConditionOf(g.jobSet().Status.Conditions, inSync))
			})
		})
	}
}

func TestBesideCopyStartsFromZero(t *testing.T) {
	g := newGuest(t)
	runTheirs(t)
	g.run(asking(2).Annotation(v1alpha2.WrittenForKey, "another").Annotation(v1alpha2.LedByKey, guestName).
		Annotation(v1alpha2.InPlaceRestartsKey, "2").Annotation(epoch.Annotation, `{"epoch":7,"base":2,"recreate":0}`))
	g.awaitAnnotation(v1alpha2.InPlaceRestartsKey, "0")
}
