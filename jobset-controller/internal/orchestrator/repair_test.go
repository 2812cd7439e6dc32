package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/epoch"
	"github.com/holdfast-project/holdfast/shared/coordination/leader"
	"github.com/holdfast-project/holdfast/shared/coordination/leader/workload"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
	"github.com/holdfast-project/holdfast/shared/coordination/simulation/memory"
	"github.com/holdfast-project/holdfast/shared/recovering"
)

// twoJobs returns a group in sync that is one hour old and has two Jobs with two pods each.
func twoJobs(t *testing.T) *rig {
	g := newRig(t, func(js *v1alpha2.JobSet) { js.Spec.ReplicatedJobs[0].Replicas = 2 })
	js := g.jobSet()
	second := childJob(js)
	second.Name, second.UID = "js-w-1", "job-uid-1"
	g.must(g.c.Create(g.ctx, second))
	g.reconcile()
	for job := range 2 {
		for index := range 2 {
			g.makePod(job, index, nil)
			g.joinSlot(slotName(job, index), 1, 1)
		}
	}
	g.reconcile()
	g.wantReason("InSync")
	g.wantEvents()
	return g
}

func slotName(job, index int) string { return fmt.Sprintf("js-w-%d-%d", job, index) }

func (g *rig) must(err error) {
	g.Helper()
	if err != nil {
		g.Fatal(err)
	}
}

// makePod creates a running pod for a slot, with the UID that the slot's agent reports.
func (g *rig) makePod(job, index int, change func(*corev1.Pod)) *corev1.Pod {
	g.Helper()
	uidOfPod := slotOf(slotName(job, index), 1).Pod
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: slotName(job, index), UID: types.UID(uidOfPod), Finalizers: []string{"batch.kubernetes.io/job-tracking"},
			CreationTimestamp: metav1.NewTime(g.clock.Now().Add(-time.Hour)),
			OwnerReferences:   []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: fmt.Sprint("js-w-", job), UID: jobUID(job), Controller: ptr.To(true)}},
			Annotations: map[string]string{
				v1alpha2.JobSetNameKey: "js", v1alpha2.JobSetUIDKey: uid, v1alpha2.ReplicatedJobNameKey: "w",
				v1alpha2.JobIndexKey: fmt.Sprint(job), batchv1.JobCompletionIndexAnnotation: fmt.Sprint(index), epoch.Annotation: "1",
			},
		},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{
			{Name: "worker", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}},
		}},
	}
	if change != nil {
		change(pod)
	}
	g.must(g.c.Create(g.ctx, pod))
	return pod
}

// jobUID returns the UID of one of the Jobs that twoJobs creates.
func jobUID(job int) types.UID {
	if job == 0 {
		return "job-uid"
	}
	return types.UID(fmt.Sprint("job-uid-", job))
}

func (g *rig) pod(job, index int) *corev1.Pod {
	g.Helper()
	pod := &corev1.Pod{}
	g.must(g.c.Get(g.ctx, types.NamespacedName{Namespace: "ns", Name: slotName(job, index)}, pod))
	return pod
}

func (g *rig) changePod(job, index int, change func(*corev1.Pod)) *corev1.Pod {
	g.Helper()
	pod := g.pod(job, index)
	change(pod)
	status := pod.Status
	g.must(g.c.Update(g.ctx, pod))
	pod.Status = status
	g.must(g.c.Status().Update(g.ctx, pod))
	return pod
}

// see passes a pod event to the reconciler, as the watch does.
func (g *rig) see(pod *corev1.Pod, gone bool) {
	q := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[ctrl.Request]())
	defer q.ShutDown()
	g.r.sawPod(pod, gone, q)
}

func (g *rig) pass(d time.Duration) {
	g.Helper()
	g.clock.SetTime(g.clock.Now().Add(d))
	g.reconcile()
}

func (g *rig) wantDeleted(names ...string) {
	g.Helper()
	want := map[string]bool{}
	for _, name := range names {
		want[name] = true
	}
	var pods corev1.PodList
	var jobs batchv1.JobList
	g.must(g.c.List(g.ctx, &pods))
	g.must(g.c.List(g.ctx, &jobs))
	objects := map[string]client.Object{}
	for i := range pods.Items {
		objects["pod "+pods.Items[i].Name] = &pods.Items[i]
	}
	for i := range jobs.Items {
		objects["job "+jobs.Items[i].Name] = &jobs.Items[i]
	}
	for name, obj := range objects {
		if got := !obj.GetDeletionTimestamp().IsZero(); got != want[name] {
			g.Errorf("%s being deleted: %v, want %v", name, got, want[name])
		}
	}
}

func cannotPull(pod *corev1.Pod) {
	pod.Status.ContainerStatuses[0].State = corev1.ContainerState{
		Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff"},
	}
}

// oneHangs returns a group during a restart. js-w-1-1 does not join, because its container cannot be started again.
func oneHangs(t *testing.T) *rig {
	g := twoJobs(t)
	g.fail("js-w-0-0", 1, 1)
	g.reconcile()
	for _, slot := range []string{"js-w-0-0", "js-w-0-1", "js-w-1-0"} {
		g.joinSlot(slot, 1, 2)
	}
	g.changePod(1, 1, cannotPull)
	g.wantEvents("restarting all 4 workers in place")
	return g
}

func TestStuckPodIsRecreatedOnce(t *testing.T) {
	g := oneHangs(t)
	g.pass(19 * time.Second)
	g.wantDeleted()
	g.pass(2 * time.Second)
	g.wantDeleted("pod js-w-1-1")
	g.wantEvents("worker js-w-1-1 is waiting: ImagePullBackOff; deleting only this pod (js-w-1-1), so that its owner creates a new one; " +
		"all Jobs are recreated if 1 of 4 workers have not joined within 39s")
	g.pass(5 * time.Second)
	g.r = g.leader(2)
	g.reconcile()
	g.pass(25 * time.Second)
	g.wantDeleted("pod js-w-1-1")
	g.wantEvents()
	g.joinPod(rounds.Slot{Name: "js-w-1-1", Pod: "new"}, 1, 1)
	g.reconcile()
	g.wantPhase(coordination.Running, 1, 1)
	g.wantCharged("1")
}

func TestSmallJobIsRecreatedIfANewPodDoesNotHelp(t *testing.T) {
	g := oneHangs(t)
	g.pass(0) // the leader observes the restart
	g.must(g.c.Delete(g.ctx, g.changePod(1, 1, func(p *corev1.Pod) { p.Finalizers = nil })))
	g.clock.SetTime(g.clock.Now().Add(10 * time.Second))
	g.makePod(1, 1, func(p *corev1.Pod) {
		p.UID, p.CreationTimestamp = "second", metav1.NewTime(g.clock.Now())
		cannotPull(p)
	})
	g.pass(20 * time.Second)
	g.wantDeleted()
	g.pass(11 * time.Second)
	g.wantDeleted("job js-w-1")
	g.wantEvents("worker js-w-1-1 is waiting: ImagePullBackOff; deleting Job js-w-1, to be recreated in generation 1")
	if sum := g.group(); !sum.Died || sum.Joined != 2 {
		t.Errorf("the Job's other worker still counts: %+v", sum)
	}
	g.pass(5 * time.Second)
	g.wantEvents()
	g.wantPhase(coordination.Restarting, 1, 1)
	// js-w-1-0 had joined before its Job was deleted because of js-w-1-1. The other workers may hang now that it is
	// gone.
	g.joinPod(rounds.Slot{Name: "js-w-1-0", Pod: "new-0"}, 1, 1)
	g.joinSlot("js-w-1-1", 1, 2)
	g.reconcile()
	g.wantPhase(coordination.Restarting, 1, 2)
	g.wantEvents("the pod of worker js-w-1-1 was lost or replaced; restarting all 4 workers in place (restart 2 of 2)", "all 4 workers are running again")
}

func TestWorkerThatRecoversByItselfIsNotRepaired(t *testing.T) {
	g := oneHangs(t)
	g.changePod(1, 1, func(p *corev1.Pod) {
		p.Status.ContainerStatuses[0] = corev1.ContainerStatus{
			State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{
				Reason: "CrashLoopBackOff", Message: "back-off 20s restarting failed container=worker pod=js-w-1-1",
			}},
			LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{FinishedAt: metav1.NewTime(g.clock.Now())}},
		}
	})
	for range 5 {
		g.pass(11 * time.Second)
	}
	g.wantDeleted()
	g.wantEvents()
}

func TestPodThatSucceededOnAnOrderNeedsANewJob(t *testing.T) {
	g := oneHangs(t)
	g.see(g.changePod(1, 1, func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded }), false)
	g.reconcile()
	g.wantDeleted("job js-w-1")
	g.wantEvents("worker js-w-1-1 exited 0 when it was stopped, so its Job considers it finished; deleting Job js-w-1")
	g.reconcile()
	g.wantEvents()
}

func TestPodThatSucceedsWhileTheGroupRunsIsIgnored(t *testing.T) {
	g := twoJobs(t)
	g.see(g.changePod(1, 1, func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded }), false)
	g.reconcile()
	g.wantPhase(coordination.Running, 1, 0)
	g.wantDeleted()
}

func TestLostPodIsADeath(t *testing.T) {
	cases := map[string]struct {
		change func(*corev1.Pod)
		gone   bool
		want   coordination.Phase
	}{
		"a pod that is gone":        {func(*corev1.Pod) {}, true, coordination.Restarting},
		"a pod that failed":         {func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }, false, coordination.Restarting},
		"a pod that is terminating": {func(*corev1.Pod) {}, false, coordination.Running},
		"another pod":               {func(p *corev1.Pod) { p.UID = "another" }, true, coordination.Running},
		"a pod that had succeeded":  {func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded }, true, coordination.Running},
		"another JobSet's pod":      {func(p *corev1.Pod) { p.Annotations[v1alpha2.JobSetUIDKey] = "uid-0" }, true, coordination.Running},
		"a pod without a slot":      {func(p *corev1.Pod) { p.Annotations[v1alpha2.JobIndexKey] = "7" }, true, coordination.Running},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			g := twoJobs(t)
			pod := g.pod(1, 1)
			tc.change(pod)
			g.see(pod, tc.gone)
			g.reconcile()
			if got := g.group().Phase; got != tc.want {
				t.Errorf("phase %s, want %s", got, tc.want)
			}
			if tc.want == coordination.Restarting {
				g.wantCharged("1")
				g.wantEvents("the pod of worker js-w-1-1 was lost or replaced; restarting all 4 workers in place (restart 1 of 2)")
			}
		})
	}
}

// The agent cannot know that a deletion caused the exit, so the store considers the worker finished.
func TestExit0OfADeletedPodIsNoCompletion(t *testing.T) {
	g := twoJobs(t)
	g.finish("js-w-1-1")
	if sum := g.group(); sum.Done != 1 {
		t.Fatalf("%+v", sum)
	}
	pod := g.pod(1, 1)
	pod.Status.Phase = corev1.PodSucceeded
	pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds = ptr.To(metav1.NewTime(g.clock.Now().Add(30*time.Second))), ptr.To[int64](30)
	pod.Status.ContainerStatuses[0].State = corev1.ContainerState{
		Terminated: &corev1.ContainerStateTerminated{FinishedAt: metav1.NewTime(g.clock.Now())},
	}
	g.changePod(1, 1, func(p *corev1.Pod) { p.Status = pod.Status })
	g.see(pod, false)
	g.reconcile()
	g.wantPhase(coordination.Restarting, 1, 1)
	g.wantCharged("1")
	g.wantDeleted("job js-w-1")
	if sum := g.group(); sum.Done != 0 {
		t.Errorf("%+v", sum)
	}
}

func TestSuspendedGroupReleasesNoSlot(t *testing.T) {
	g := twoJobs(t)
	evicted := newMeter(t, metric(t, "holdfast_inplace_evictions_total"))
	g.change(func(js *v1alpha2.JobSet) {
		js.Spec.Suspend = ptr.To(true)
		js.Annotations[epoch.Annotation] = `{"epoch":2,"base":0}`
	})
	g.see(g.pod(1, 1), true)
	g.reconcile()
	g.change(func(js *v1alpha2.JobSet) { js.Spec.Suspend = nil })
	g.reconcile()
	g.wantPhase(coordination.Forming, 2, 0)
	g.wantCharged("0")
	evicted.want(0)
}

// deafStore answers reads but rejects releases.
type deafStore struct{ rounds.Leader }

func (deafStore) Release(context.Context, string, coordination.Token, rounds.Level, int, rounds.Slot, string, rounds.Slot) error {
	return memory.ErrUnreachable
}

func TestLossIsKeptDuringAStoreOutage(t *testing.T) {
	g := twoJobs(t)
	g.see(g.pod(1, 1), true)
	g.store.SetReachable(false)
	g.reconcile()
	g.store.SetReachable(true)
	g.r.Store = deafStore{g.store}
	g.reconcile()
	g.wantPhase(coordination.Running, 1, 0)
	g.r.Store = g.store
	g.reconcile()
	g.wantPhase(coordination.Restarting, 1, 1)
}

// silentStore fails queries for missing workers.
type silentStore struct{ rounds.Leader }

func (silentStore) Look(context.Context, string, string, []string) (map[string]string, error) {
	return nil, memory.ErrUnreachable
}

// The Job does not create another pod, and without the recorded loss the leader would not notice the missing pod until
// a third of the timeout has passed.
func TestLossIsKeptWhenAReconcileFails(t *testing.T) {
	for name, fails := range map[string]func(*rig){
		"the store fails": func(g *rig) { g.r.Store = silentStore{g.store} },
		"the JobSet has changed": func(g *rig) {
			g.change(func(js *v1alpha2.JobSet) { delete(js.Annotations, recovering.Annotation) }) // the leader writes the annotation again
			g.r.Client = g.through(interceptor.Funcs{
				Patch: func(_ context.Context, _ client.WithWatch, obj client.Object, _ client.Patch, _ ...client.PatchOption) error {
					return apierrors.NewConflict(v1alpha2.Resource("jobsets"), obj.GetName(), errors.New("changed"))
				},
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := oneHangs(t)
			g.see(g.changePod(1, 1, func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded }), false)
			fails(g)
			g.reconcile()
			g.wantDeleted()
			g.r.Store, g.r.Client = g.store, g.c
			g.reconcile()
			g.wantDeleted("job js-w-1")
			if n := g.remembered()["losses"]; n != 0 {
				t.Errorf("%d JobSets have recorded losses", n)
			}
		})
	}
}

func TestKeptLossDoesNotReplaceANewerOne(t *testing.T) {
	g, key := NewGroups(clocktesting.NewFakePassiveClock(time.Unix(1000, 0))), ownerKey{JobSets.Controller, types.NamespacedName{Namespace: "ns", Name: "js"}}
	pod := func(uid string) *workload.Pod { return &workload.Pod{UID: uid} }
	g.note(key, uid, leader.Loss{Pod: pod("a")})
	g.note(key, uid, leader.Loss{Pod: pod("b")})
	taken := g.drain(g.get(uid))
	g.note(key, uid, leader.Loss{Pod: pod("a"), Gap: true})
	g.putBack(g.get(uid), taken)
	got := map[string]bool{}
	for _, one := range g.drain(g.get(uid)) {
		got[one.Pod.UID] = one.Gap
	}
	if len(got) != 2 || !got["a"] || got["b"] {
		t.Errorf("pods, and whether they leave a gap: %v", got)
	}
}

// newer is an API server with a newer version of a pod than the one in the cache.
type newer struct {
	client.Reader
	pod *corev1.Pod
}

func (n newer) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	if pod, ok := obj.(*corev1.Pod); ok && key.Name == n.pod.Name {
		n.pod.DeepCopyInto(pod)
		return nil
	}
	return n.Reader.Get(ctx, key, obj, opts...)
}

func TestPodIsReadLiveBeforeItIsDeleted(t *testing.T) {
	cases := map[string]func(*corev1.Pod){
		"its worker is running again": func(p *corev1.Pod) {
			p.Status.ContainerStatuses[0].State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
		},
		"it is another pod": func(p *corev1.Pod) { p.UID = "another" },
	}
	for name, change := range cases {
		t.Run(name, func(t *testing.T) {
			g := oneHangs(t)
			live := g.pod(1, 1)
			change(live)
			g.r.Live = newer{g.c, live}
			g.reconcile()
			g.pass(21 * time.Second)
			g.wantDeleted()
			g.wantEvents()
		})
	}
}

// remembered returns how many entries the leader keeps about the JobSet.
func (g *rig) remembered() map[string]int {
	losses := 0
	for _, state := range g.r.Groups.byUID {
		losses += len(state.losses)
	}
	return map[string]int{"losses": losses, "groups": len(g.r.Groups.byUID), "names": len(g.r.Groups.byOwner)}
}

// muchHappened returns a group for which the leader keeps entries in each part of its state.
func muchHappened(t *testing.T) *rig {
	g := twoJobs(t)
	g.fail("js-w-0-0", 1, 1)
	g.reconcile()
	g.see(g.pod(1, 1), true)
	for _, of := range []string{"losses", "groups", "names"} {
		if g.remembered()[of] == 0 {
			t.Fatalf("no state is kept about %s", of)
		}
	}
	return g
}

func TestMemoryOfAJobSetIsDroppedIfIt(t *testing.T) {
	for name, ends := range map[string]func(*rig){
		"is deleted": func(g *rig) { g.must(g.c.Delete(g.ctx, g.jobSet())) },
		"finishes":   func(g *rig) { g.finishJobSet() },
		"finishes and is then deleted": func(g *rig) {
			g.finishJobSet()
			g.reconcile()
			g.must(g.c.Delete(g.ctx, g.jobSet()))
		},
		"is recreated between two reconciles": func(g *rig) {
			anew := jobSet()
			anew.UID = "anew"
			delete(anew.Annotations, v1alpha2.InPlaceTimeoutKey)
			g.must(g.c.Delete(g.ctx, g.jobSet()))
			g.must(g.c.Create(g.ctx, anew))
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := muchHappened(t)
			ends(g)
			g.reconcile()
			for what, n := range g.remembered() {
				if n != 0 {
					t.Errorf("%s: %d", what, n)
				}
			}
		})
	}
}

func (g *rig) finishJobSet() {
	js := g.jobSet()
	js.Status.TerminalState = string(v1alpha2.JobSetCompleted)
	g.must(g.c.Status().Update(g.ctx, js))
}

// Two processes both believe that they are the leader. The one with the lower token does not change the store, and it
// does not change any pod before the store has accepted its token.
func TestReplacedLeaderDeletesNothing(t *testing.T) {
	g := oneHangs(t)
	old := g.leader(1)
	g.r = old
	g.reconcile()
	g.r = g.leader(2)
	g.takeOver(2)
	g.clock.SetTime(g.clock.Now().Add(25 * time.Second))
	g.r = old
	_, err := old.Reconcile(g.ctx, ctrl.Request{NamespacedName: types.NamespacedName{Namespace: "ns", Name: "js"}})
	if !errors.Is(err, coordination.ErrStaleLeader) {
		t.Errorf("error %v, want %v", err, coordination.ErrStaleLeader)
	}
	g.wantDeleted()
	g.wantEvents()
	g.r = g.leader(2)
	g.reconcile()
	g.pass(21 * time.Second)
	g.wantDeleted("pod js-w-1-1")
}

// A Job without pods has no slot to release, but deleting it still requires the token.
func TestReplacedLeaderDeletesNoJobWithoutPods(t *testing.T) {
	g := oneHangs(t)
	for index := range 2 {
		g.must(g.c.Delete(g.ctx, g.changePod(1, index, func(p *corev1.Pod) { p.Finalizers = nil })))
	}
	job := &batchv1.Job{}
	g.must(g.c.Get(g.ctx, types.NamespacedName{Namespace: "ns", Name: "js-w-1"}, job))
	job.Status.Failed, job.Status.CompletedIndexes = 9, ""
	g.must(g.c.Status().Update(g.ctx, job))
	old := g.r
	g.reconcile()
	g.takeOver(2)
	g.clock.SetTime(g.clock.Now().Add(45 * time.Second))
	_, err := old.Reconcile(g.ctx, ctrl.Request{NamespacedName: types.NamespacedName{Namespace: "ns", Name: "js"}})
	if !errors.Is(err, coordination.ErrStaleLeader) {
		t.Errorf("error %v, want %v", err, coordination.ErrStaleLeader)
	}
	g.wantDeleted()
	g.r = g.leader(2)
	g.reconcile()
	g.pass(45 * time.Second)
	g.wantDeleted("job js-w-1")
	g.wantEvents("worker js-w-1-1 has no pod, and its Job would create a new one too late; deleting Job js-w-1")
}

// The other leader takes over during a reconcile, between the last write of the group and the deletion.
func TestLeaderReplacedDuringAReconcileDeletesNoJobWithoutPods(t *testing.T) {
	g := oneHangs(t)
	for index := range 2 {
		g.must(g.c.Delete(g.ctx, g.changePod(1, index, func(p *corev1.Pod) { p.Finalizers = nil })))
	}
	job := &batchv1.Job{}
	g.must(g.c.Get(g.ctx, types.NamespacedName{Namespace: "ns", Name: "js-w-1"}, job))
	job.Status.Failed = 9
	g.must(g.c.Status().Update(g.ctx, job))
	g.reconcile()
	g.clock.SetTime(g.clock.Now().Add(45 * time.Second))
	g.r.Live = g.through(interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
			if _, is := obj.(*batchv1.Job); is {
				g.takeOver(2)
			}
			return c.Get(ctx, key, obj, opts...)
		},
	})
	if _, err := g.r.Reconcile(g.ctx, request()); !errors.Is(err, coordination.ErrStaleLeader) {
		t.Errorf("error %v, want %v", err, coordination.ErrStaleLeader)
	}
	g.wantDeleted()
}

func TestDataLossCausesNoRepair(t *testing.T) {
	g := twoJobs(t)
	g.store.Wipe()
	g.reconcile()
	g.wantMessage("the store lost its data; 4 workers are rejoining with restart count 0 of generation 1")
	for _, slot := range []string{"js-w-0-0", "js-w-0-1", "js-w-1-0"} {
		g.joinSlot(slot, 1, 1)
	}
	g.changePod(1, 1, cannotPull)
	for range 5 {
		g.pass(14 * time.Second)
	}
	g.wantPhase(coordination.Restarting, 1, 0)
	g.wantDeleted()
	g.wantEvents()
}

func TestTrimPodKeepsWhatIsRead(t *testing.T) {
	full := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: "p", UID: "u", Labels: map[string]string{"a": "b"}, ManagedFields: []metav1.ManagedFieldsEntry{{}},
			Annotations:     map[string]string{"other": "x", v1alpha2.JobSetUIDKey: uid},
			OwnerReferences: []metav1.OwnerReference{{UID: "other"}, {Kind: "Job", Name: "j", UID: jobUID(0), Controller: isTrue}},
		},
		Spec: corev1.PodSpec{NodeName: "n", Containers: []corev1.Container{{Name: "worker"}}},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, PodIP: "1.2.3.4", ContainerStatuses: []corev1.ContainerStatus{{Name: "worker", ImageID: "i"}},
			InitContainerStatuses: []corev1.ContainerStatus{
				{Name: "agent", ImageID: "i", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}, {Name: "over"},
			}},
	}
	got := TrimPod(full)
	want := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: "p", UID: "u", Annotations: map[string]string{v1alpha2.JobSetUIDKey: uid},
			OwnerReferences: []metav1.OwnerReference{{UID: jobUID(0), Controller: isTrue}},
		},
		Spec: corev1.PodSpec{NodeName: "n"},
		Status: corev1.PodStatus{
			Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{{Name: "worker"}},
			InitContainerStatuses: []corev1.ContainerStatus{{Name: "agent", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}},
		},
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %v\nwant %v", got, want)
	}
}
