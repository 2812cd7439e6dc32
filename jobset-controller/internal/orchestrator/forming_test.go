package orchestrator

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/epoch"
	"github.com/holdfast-project/holdfast/shared/coordination/leader/forming"
)

const formingTimeout = "holdfast.dev/forming-timeout"

// startForming returns a rig whose group is waiting for its two workers. Both have a pod that has just been scheduled.
func startForming(t *testing.T, change func(*v1alpha2.JobSet)) *rig {
	g := newRig(t, change)
	job := &batchv1.Job{}
	g.must(g.c.Get(g.ctx, key("js-w-0"), job))
	job.CreationTimestamp = metav1.NewTime(g.clock.Now())
	g.must(g.c.Update(g.ctx, job))
	g.reconcile()
	g.wantPhase(coordination.Forming, 1, 0)
	for index := range 2 {
		g.makePod(0, index, func(pod *corev1.Pod) {
			pod.CreationTimestamp = metav1.NewTime(g.clock.Now())
			pod.Status.Conditions = []corev1.PodCondition{scheduled(corev1.ConditionTrue, "", g.clock.Now())}
			pod.Status.ContainerStatuses[0].State.Running.StartedAt = metav1.NewTime(g.clock.Now())
		})
	}
	return g
}

func scheduled(status corev1.ConditionStatus, reason string, at time.Time) corev1.PodCondition {
	return corev1.PodCondition{Type: corev1.PodScheduled, Status: status, Reason: reason, LastTransitionTime: metav1.NewTime(at)}
}

// exit reports in the pod's status that a worker's container has exited for the n-th time.
func (g *rig) exit(index int, n, code int32, message string) {
	g.Helper()
	ended := &corev1.ContainerStateTerminated{ExitCode: code, Message: message, FinishedAt: metav1.NewTime(g.clock.Now())}
	g.changePod(0, index, func(pod *corev1.Pod) {
		pod.Status.ContainerStatuses[0] = corev1.ContainerStatus{
			Name: "worker", RestartCount: n - 1, LastTerminationState: corev1.ContainerState{Terminated: ended},
			State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}},
		}
	})
}

func (g *rig) wantSays(parts ...string) {
	g.Helper()
	got := g.message(ConditionInSync)
	for _, part := range parts {
		if !strings.Contains(got, part) {
			g.Errorf("the condition is %q, want it to contain %q", got, part)
		}
	}
}

func TestExitsBeforeTheFirstJoinAreChargedUntilTheJobSetFails(t *testing.T) {
	g := startForming(t, nil)
	g.joinSlot("js-w-0-0", 1, 1)
	for n := range int32(3) {
		g.clock.SetTime(g.clock.Now().Add(time.Second))
		g.exit(1, n+1, 127, `exec: "nosuch": not found`)
		g.reconcile()
		g.wantCharged(string('1' + n))
		if n == 0 {
			g.wantSays("js-w-0-1", "exited with code 127", `exec: "nosuch": not found`)
		}
	}
	g.wantEvents("worker js-w-0-1 exited with code 127", "1 of 2 workers have not joined", "restart 2 of 2", "all 2 restarts are used up: the JobSet fails")
}

func TestWorkersThatExitTogetherCountAsOneFailure(t *testing.T) {
	g := startForming(t, nil)
	g.exit(0, 1, 2, "")
	g.exit(1, 1, 2, "")
	g.reconcile()
	g.wantCharged("1")
	g.r = g.leader(2)
	g.reconcile()
	g.wantCharged("1")
}

func TestChargesWhileFormingArePermanent(t *testing.T) {
	g := startForming(t, func(js *v1alpha2.JobSet) { js.Spec.FailurePolicy.MaxRestarts = 5 })
	g.clock.SetTime(g.clock.Now().Add(time.Second))
	g.exit(1, 2, 1, "")
	g.reconcile()
	g.wantCharged("2")
	g.join(1, 1)
	g.reconcile()
	g.wantReason("InSync")
	g.fail("js-w-0-1", 1, 1)
	g.reconcile()
	g.wantCharged("3")
	if got := g.group().Limit; got != 3 {
		t.Errorf("the epoch allows %d restarts, want 3", got)
	}
}

func TestWorkerThatNeverJoinsEscalatesUntilTheJobSetFails(t *testing.T) {
	g := startForming(t, func(js *v1alpha2.JobSet) {
		js.Annotations[formingTimeout] = "10m"
		js.Spec.FailurePolicy.MaxRestarts = 1
	})
	g.joinSlot("js-w-0-0", 1, 1)
	g.pass(9 * time.Minute)
	g.wantSays("js-w-0-1", "is running, but has not reached the store")
	g.wantDeleted()
	g.pass(time.Minute + time.Second)
	g.wantDeleted("pod js-w-0-1")
	g.exit(1, 1, 143, "")
	g.changePod(0, 1, func(pod *corev1.Pod) { pod.Status.Phase = corev1.PodFailed })
	g.reconcile()
	g.wantCharged("0")
	g.replaceMissing(1)
	g.pass(9 * time.Minute)
	g.wantPhase(coordination.Forming, 1, 0)
	g.pass(time.Minute + time.Second)
	g.wantPhase(coordination.Forming, 2, 0)
	g.wantCharged("1")
	if got, want := g.jobSet().Annotations[epoch.Annotation], `{"epoch":2,"base":1,"recreate":2,"cause":"forming/1/0"}`; got != want {
		t.Errorf("epoch %s, want %s", got, want)
	}
	if !g.jobIsGoing() {
		t.Error("the Job is not being deleted")
	}
	g.wantEvents("1 of 2 workers have not joined: js-w-0-1: pod js-w-0-1 is running", "worker js-w-0-1 did not join within 10m0s",
		"deleting all Jobs for a full recreation (generation 2, restart 1 of 1)")
	g.makeJobOf(2)
	g.pass(11 * time.Minute)
	g.wantCharged("2")
	g.wantEvents("2 of 2 workers have not joined", "all 1 restarts are used up: the JobSet fails")
	g.pass(time.Hour)
	g.wantCharged("2")
}

// makeJobOf creates the Job of a generation, as the JobSet controller does after a recreation.
func (g *rig) makeJobOf(number int32) {
	g.Helper()
	job := &batchv1.Job{}
	g.must(g.c.Get(g.ctx, key("js-w-0"), job))
	job.Finalizers = nil
	g.must(g.c.Update(g.ctx, job))
	job = childJob(g.jobSet())
	job.UID, job.CreationTimestamp = "job-uid-2", metav1.NewTime(g.clock.Now())
	job.Annotations[epoch.Annotation] = epoch.FormatNumber(number)
	g.must(g.c.Create(g.ctx, job))
}

// replaceMissing replaces a deleted pod, as the Job controller does.
func (g *rig) replaceMissing(index int) {
	g.Helper()
	pod := g.pod(0, index)
	pod.Finalizers = nil
	g.must(g.c.Update(g.ctx, pod))
	g.makePod(0, index, func(pod *corev1.Pod) {
		pod.UID += "-2"
		pod.CreationTimestamp = metav1.NewTime(g.clock.Now())
		pod.Status.Conditions = []corev1.PodCondition{scheduled(corev1.ConditionTrue, "", g.clock.Now())}
	})
}

func key(name string) types.NamespacedName { return types.NamespacedName{Namespace: "ns", Name: name} }

func (g *rig) jobIsGoing() bool {
	g.Helper()
	job := &batchv1.Job{}
	g.must(g.c.Get(g.ctx, key("js-w-0"), job))
	return !job.DeletionTimestamp.IsZero()
}

func TestFormingTimeoutPausesWhileAPodIsUnscheduled(t *testing.T) {
	for name, reason := range map[string]string{"unscheduled": corev1.PodReasonUnschedulable, "gated": corev1.PodReasonSchedulingGated} {
		t.Run(name, func(t *testing.T) {
			g := startForming(t, nil)
			g.joinSlot("js-w-0-0", 1, 1)
			g.changePod(0, 1, func(pod *corev1.Pod) {
				pod.Status.ContainerStatuses = nil
				pod.Status.Conditions = []corev1.PodCondition{scheduled(corev1.ConditionFalse, reason, g.clock.Now())}
			})
			g.pass(5 * time.Hour)
			g.wantPhase(coordination.Forming, 1, 0)
			g.wantCharged("0")
			g.wantSays("js-w-0-1", name, "forming-timeout is paused")
			g.changePod(0, 1, func(pod *corev1.Pod) {
				pod.Status.Conditions = []corev1.PodCondition{scheduled(corev1.ConditionTrue, "", g.clock.Now())}
			})
			g.pass(29 * time.Minute)
			g.r = g.leader(2)
			g.reconcile()
			g.wantDeleted()
			g.pass(2 * time.Minute)
			g.wantDeleted("pod js-w-0-1")
		})
	}
}

func TestFormingTimeoutPausesWhileAStepWaits(t *testing.T) {
	g := newRig(t, nil)
	g.reconcile()
	job := &batchv1.Job{}
	g.must(g.c.Get(g.ctx, key("js-w-0"), job))
	job.Spec.Suspend = ptr.To(true)
	g.must(g.c.Update(g.ctx, job))
	g.pass(5 * time.Hour)
	g.wantPhase(coordination.Forming, 1, 0)
	g.wantCharged("0")
	g.wantSays("Job js-w-0 is suspended", "forming-timeout is paused")
}

func TestUnreachableStoreIsReportedBeforeTheGroupForms(t *testing.T) {
	g := newRig(t, nil)
	g.store.SetReachable(false)
	g.reconcile()
	g.wantReason("StoreUnreachable")
	g.store.SetReachable(true)
	g.reconcile()
	g.wantReason("WaitingForWorkers")
}

func TestFormingStepHasItsOwnTimeout(t *testing.T) {
	g := startForming(t, secondStep)
	g.join(1, 1)
	g.reconcile()
	g.wantReason("InSync")
	g.wantEvents()
	g.pass(5 * time.Hour)
	g.wantReason("InSync")
	g.wantSays("all 2 workers have", "1 of 1 workers have not joined: js-b-0-0: waiting for its Job to be created", "is paused")
	g.createJob(func(job *batchv1.Job) { job.Name, job.CreationTimestamp = "js-b-0", metav1.NewTime(g.clock.Now()) })
	g.pass(29 * time.Minute)
	g.wantPhase(coordination.Running, 1, 0)
	g.pass(2 * time.Minute)
	g.wantPhase(coordination.Forming, 2, 0)
	g.wantCharged("1")
	g.wantEvents("1 of 1 workers have not joined: js-b-0-0: waiting for Job js-b-0 to create its pod", "deleting all Jobs for a full recreation (generation 2, restart 1 of 2)")
}

// The restart after the death is counted when all workers have joined.
func TestDeathReportedToTheStoreIsChargedOnce(t *testing.T) {
	g := startForming(t, nil)
	g.joinSlot("js-w-0-1", 1, 1)
	g.fail("js-w-0-1", 1, 1)
	g.exit(1, 1, 1, "")
	g.reconcile()
	g.wantCharged("0")
	g.join(1, 2)
	g.join(1, 3)
	g.reconcile()
	g.wantPhase(coordination.Running, 1, 1)
	g.wantCharged("1")
}

func TestSuspendedJobSetIsNotChargedAndItsTimeoutPauses(t *testing.T) {
	g := startForming(t, nil)
	g.change(func(js *v1alpha2.JobSet) {
		js.Spec.Suspend = ptr.To(true)
		js.Annotations[epoch.Annotation] = `{"epoch":2,"base":0}`
	})
	g.exit(1, 3, 1, "")
	g.pass(5 * time.Hour)
	g.wantReason("Suspended")
	g.wantCharged("0")
	g.wantDeleted()
	g.change(func(js *v1alpha2.JobSet) { js.Spec.Suspend = nil })
	g.reconcile()
	g.pass(29 * time.Minute)
	g.wantPhase(coordination.Forming, 2, 0)
	g.wantCharged("0")
}

func TestFailureBeforeTheFirstJoinTriggersAReconcile(t *testing.T) {
	g := startForming(t, nil)
	g.reconcile()
	woken := func(index int) bool {
		q := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[ctrl.Request]())
		defer q.ShutDown()
		g.r.sawPod(g.pod(0, index), false, q)
		time.Sleep(2 * debounce)
		return q.Len() > 0
	}
	g.exit(1, 1, 127, "")
	if woken(0) || !woken(1) {
		t.Error("the leader must be notified of the pod whose container has exited, and of no other")
	}
	g.join(1, 1)
	g.reconcile()
	if woken(1) {
		t.Error("the leader is notified after the group has formed")
	}
}

func TestStoreOutageIsNotReportedOnAFinishedJobSet(t *testing.T) {
	g := newRig(t, func(js *v1alpha2.JobSet) {
		js.Annotations[v1alpha2.InPlaceRestartsKey] = "1"
		js.Status.TerminalState = string(v1alpha2.JobSetFailed)
	})
	g.store.SetReachable(false)
	g.reconcile()
	if list := g.jobSet().Status.Conditions; len(list) > 0 {
		t.Errorf("conditions %+v, want none", list)
	}
}

func TestStoreOutageIsNotReportedWhileWorkersRun(t *testing.T) {
	g := formed(t)
	g.store.SetReachable(false)
	g.reconcile()
	g.wantReason("InSync")
}

func TestMetricCountsWhatWorkersWaitFor(t *testing.T) {
	g := startForming(t, nil)
	g.joinSlot("js-w-0-0", 1, 1)
	g.pass(time.Minute)
	want := map[forming.Kind]int{forming.Store: 1}
	if diff := cmp.Diff(want, g.r.Groups.get(uid).use.waits); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	g.joinSlot("js-w-0-1", 1, 1)
	g.reconcile()
	if left := g.r.Groups.get(uid).use.waits; left != nil {
		t.Errorf("%v is counted after all have joined", left)
	}
}
