package orchestrator

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/epoch"
	"github.com/holdfast-project/holdfast/shared/coordination/group"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
	"github.com/holdfast-project/holdfast/shared/coordination/simulation/grouptest"
	"github.com/holdfast-project/holdfast/shared/coordination/simulation/memory"
	"github.com/holdfast-project/holdfast/shared/coordination/worker"
)

const uid = "uid-1"

// rig is a JobSet with two workers, its Job, a store and a leader.
type rig struct {
	*testing.T
	ctx     context.Context
	c       client.Client
	store   *memory.Store
	patches *patchCounter
	clock   *clocktesting.FakePassiveClock
	events  *events.FakeRecorder
	r       *Reconciler
	agents  map[rounds.Slot]*worker.Memory
}

// patchCounter counts the writes to JobSets, excluding their status.
type patchCounter struct{ n atomic.Int32 }

func (p *patchCounter) count(ctx context.Context, c client.WithWatch, o client.Object, patch client.Patch, opts ...client.PatchOption) error {
	p.n.Add(1)
	return c.Patch(ctx, o, patch, opts...)
}

// registry holds the metrics of all tests' reconcilers.
var (
	registry    = prometheus.NewRegistry()
	testMetrics = NewMetrics(registry)
)

type fixedToken coordination.Token

func (t fixedToken) Token(context.Context) (coordination.Token, error) {
	return coordination.Token(t), nil
}

func newRig(t *testing.T, change func(*v1alpha2.JobSet)) *rig {
	js := jobSet()
	if change != nil {
		change(js)
	}
	s := runtime.NewScheme()
	if err := v1alpha2.AddToScheme(s); err != nil {
		t.Fatal(err)
	}
	if err := clientgoscheme.AddToScheme(s); err != nil {
		t.Fatal(err)
	}
	patches := &patchCounter{}
	c := fake.NewClientBuilder().WithScheme(s).WithStatusSubresource(js).WithObjects(js, childJob(js)).
		WithInterceptorFuncs(interceptor.Funcs{Patch: patches.count}).
		WithIndex(&corev1.Pod{}, PodsOfGroup, IndexByGroup).Build()
	clock := clocktesting.NewFakePassiveClock(time.Unix(1000, 0))
	g := &rig{
		T: t, ctx: t.Context(), c: c, store: memory.New(clock.Now), clock: clock, patches: patches, events: events.NewFakeRecorder(50),
	}
	g.r = g.leader(1)
	return g
}

// leader returns a new orchestrator process.
func (g *rig) leader(transitions int64) *Reconciler {
	return &Reconciler{
		Kind: JobSets, Client: g.c, Live: g.c, Store: g.store, Tokens: fixedToken{1, transitions}, Recorder: g.events, Clock: g.clock,
		Groups: NewGroups(g.clock), Metrics: testMetrics,
	}
}

func jobSet() *v1alpha2.JobSet {
	return &v1alpha2.JobSet{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: "js", UID: uid, Annotations: map[string]string{v1alpha2.InPlaceTimeoutKey: "60s"},
		},
		Spec: v1alpha2.JobSetSpec{
			FailurePolicy: &v1alpha2.FailurePolicy{MaxRestarts: 2},
			ReplicatedJobs: []v1alpha2.ReplicatedJob{{Name: "w", Replicas: 1, Template: batchv1.JobTemplateSpec{
				Spec: batchv1.JobSpec{
					Parallelism: ptr.To(int32(2)), Completions: ptr.To(int32(2)),
					Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{InitContainers: []corev1.Container{
						{Name: "agent", Args: []string{"--worker-jobset-uid=$(JOBSET_UID)"}},
					}}},
				},
			}}},
		},
	}
}

func childJob(js *v1alpha2.JobSet) *batchv1.Job {
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: "js-w-0", UID: "job-uid", Labels: map[string]string{
				v1alpha2.JobSetNameKey: "js", v1alpha2.ReplicatedJobNameKey: "w", v1alpha2.JobIndexKey: "0", v1alpha2.RestartsKey: "0",
			},
			Annotations:     map[string]string{epoch.Annotation: "1"},
			Finalizers:      []string{"foregroundDeletion"},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(js, v1alpha2.GroupVersion.WithKind("JobSet"))},
		},
		Spec: *js.Spec.ReplicatedJobs[0].Template.Spec.DeepCopy(),
	}
}

func (g *rig) reconcile() time.Duration {
	g.Helper()
	res, err := g.r.Reconcile(g.ctx, ctrl.Request{NamespacedName: types.NamespacedName{Namespace: "ns", Name: "js"}})
	if err != nil {
		g.Fatalf("Reconcile: %v", err)
	}
	return res.RequeueAfter
}

func (g *rig) jobSet() *v1alpha2.JobSet {
	g.Helper()
	js := &v1alpha2.JobSet{}
	if err := g.c.Get(g.ctx, types.NamespacedName{Namespace: "ns", Name: "js"}, js); err != nil {
		g.Fatal(err)
	}
	return js
}

func (g *rig) change(f func(*v1alpha2.JobSet)) {
	g.Helper()
	js := g.jobSet()
	f(js)
	if err := g.c.Update(g.ctx, js); err != nil {
		g.Fatal(err)
	}
}

func (g *rig) wantPhase(p coordination.Phase, epochNumber, round int64) {
	g.Helper()
	if sum := g.group(); sum.Phase != p || sum.Generation != epochNumber || sum.Round != round {
		g.Fatalf("group is %s, epoch %d, round %d; want %s, %d, %d", sum.Phase, sum.Generation, sum.Round, p, epochNumber, round)
	}
}

func (g *rig) wantCharged(want string) {
	g.Helper()
	if got, ok := g.jobSet().Annotations[v1alpha2.InPlaceRestartsKey]; got != want || !ok {
		g.Fatalf("inplace-restarts is %q, want %q", got, want)
	}
}

func (g *rig) wantReason(want string) {
	g.Helper()
	c := meta.FindStatusCondition(g.jobSet().Status.Conditions, ConditionInSync)
	if c == nil || c.Reason != want {
		g.Fatalf("condition %+v, want reason %s", c, want)
	}
}

// wantEvents drains the events and expects one event for each part, in that order.
func (g *rig) wantEvents(parts ...string) {
	g.Helper()
	var seen []string
	for len(g.events.Events) > 0 {
		seen = append(seen, <-g.events.Events)
	}
	for _, part := range parts {
		if !strings.Contains(strings.Join(seen, "\n"), part) {
			g.Errorf("no event contains %q:\n%s", part, strings.Join(seen, "\n"))
		}
	}
	if len(seen) != len(parts) {
		g.Errorf("%d events, want %d:\n%s", len(seen), len(parts), strings.Join(seen, "\n"))
	}
}

// formed returns a rig whose group is in sync.
func formed(t *testing.T) *rig {
	g := newRig(t, nil)
	g.reconcile()
	g.wantPhase(coordination.Forming, 1, 0)
	g.wantCharged("0")
	g.wantReason("WaitingForWorkers")
	g.join(1, 1)
	g.reconcile()
	g.wantReason("InSync")
	return g
}

func TestRestartIsChargedOnceAndReported(t *testing.T) {
	g := formed(t)
	g.fail("js-w-0-1", 1, 1)
	g.reconcile()
	g.reconcile()
	g.wantCharged("1")
	g.wantReason("RestartingInPlace")
	g.wantEvents("worker js-w-0-1 exited with code 1; restarting all 2 workers in place (restart 1 of 2)")
	g.join(1, 2)
	g.reconcile()
	g.wantCharged("1")
	g.wantReason("InSync")
	g.wantEvents("all 2 workers are running again")
	g.r = g.leader(2)
	g.reconcile()
	g.wantCharged("1")
	g.wantEvents()
}

func TestUsedUpBudgetIsReportedAndNoWorkerIsStopped(t *testing.T) {
	g := formed(t)
	for life := range int64(2) {
		g.fail("js-w-0-0", 1, life+1)
		g.join(1, life+2)
		g.reconcile()
	}
	g.wantCharged("2")
	g.fail("js-w-0-0", 1, 3)
	g.reconcile()
	g.wantCharged("3")
	g.wantReason("RestartsUsedUp")
}

func TestCompletedGroupStaysUntilItsJobSetEnds(t *testing.T) {
	g := formed(t)
	g.finish("js-w-0-0", "js-w-0-1")
	g.reconcile()
	g.wantPhase(coordination.Completed, 1, 0)
	g.wantReason("Completed")
	g.wantCharged("0")
}

func TestRestartThatTimesOutRecreatesTheJobs(t *testing.T) {
	g := formed(t)
	g.fail("js-w-0-0", 1, 1)
	if next := g.reconcile(); next <= 0 || next > resyncEvery*2 {
		t.Errorf("next reconcile after %s", next)
	}
	g.clock.SetTime(g.clock.Now().Add(59 * time.Second))
	g.reconcile()
	g.wantPhase(coordination.Restarting, 1, 1)
	g.clock.SetTime(g.clock.Now().Add(2 * time.Second))
	g.reconcile()
	g.wantPhase(coordination.Forming, 2, 0)
	g.wantCharged("2")
	js := g.jobSet()
	if got, want := js.Annotations[epoch.Annotation], `{"epoch":2,"base":2,"recreate":2,"cause":"timeout/1/1"}`; got != want {
		t.Errorf("epoch %s, want %s", got, want)
	}
	job := &batchv1.Job{}
	if err := g.c.Get(g.ctx, types.NamespacedName{Namespace: "ns", Name: "js-w-0"}, job); err != nil || job.DeletionTimestamp.IsZero() {
		t.Errorf("the stale Job is not being deleted (%v)", err)
	}
	g.join(2, 1)
	g.reconcile()
	g.wantReason("InSync")
}

func TestNextLeaderDeletesJobsOfThePreviousGeneration(t *testing.T) {
	g := formed(t)
	g.change(func(js *v1alpha2.JobSet) {
		js.Annotations[epoch.Annotation] = `{"epoch":2,"base":1,"recreate":2,"cause":"timeout/1/1"}`
	})
	g.r = g.leader(2)
	g.reconcile()
	g.wantPhase(coordination.Forming, 2, 0)
	g.wantCharged("1")
	job := &batchv1.Job{}
	if err := g.c.Get(g.ctx, types.NamespacedName{Namespace: "ns", Name: "js-w-0"}, job); err != nil || job.DeletionTimestamp.IsZero() {
		t.Errorf("the stale Job is not being deleted (%v)", err)
	}
}

func TestSuspendAndResume(t *testing.T) {
	g := formed(t)
	g.change(func(js *v1alpha2.JobSet) {
		js.Spec.Suspend = ptr.To(true)
		js.Annotations[epoch.Annotation] = `{"epoch":2,"base":0}`
	})
	g.reconcile()
	g.wantPhase(coordination.Closed, 2, 0)
	g.wantReason("Suspended")
	g.fail("js-w-0-0", 2, 1)
	g.change(func(js *v1alpha2.JobSet) { js.Spec.Suspend = nil })
	g.reconcile()
	g.wantPhase(coordination.Forming, 2, 0)
	g.wantCharged("0")
}

func TestEmptyStoreIsRestoredFromTheAgents(t *testing.T) {
	g := formed(t)
	g.store.Wipe()
	g.reconcile()
	g.wantPhase(coordination.Restarting, 1, 0)
	g.join(1, 1)
	g.reconcile()
	g.wantPhase(coordination.Running, 1, 0)
	g.wantCharged("0")
}

func TestGroupIsDroppedWithTheAnnotationAndAtTheEnd(t *testing.T) {
	cases := map[string]func(*v1alpha2.JobSet){
		"the annotation is removed":    func(js *v1alpha2.JobSet) { delete(js.Annotations, v1alpha2.InPlaceTimeoutKey) },
		"the annotation is unreadable": func(js *v1alpha2.JobSet) { js.Annotations[v1alpha2.InPlaceTimeoutKey] = "60" },
	}
	for name, change := range cases {
		t.Run(name, func(t *testing.T) {
			g := formed(t)
			g.change(change)
			g.reconcile()
			if groups, _ := g.store.Tidy(g.ctx); len(groups) != 0 {
				t.Errorf("groups left: %v", groups)
			}
			if c := meta.FindStatusCondition(g.jobSet().Status.Conditions, ConditionInSync); c != nil {
				t.Errorf("condition left: %+v", c)
			}
		})
	}
}

func TestStoreOutageIsRetried(t *testing.T) {
	g := formed(t)
	g.store.SetReachable(false)
	if next := g.reconcile(); next <= 0 || next > 2*retryStore {
		t.Errorf("next reconcile after %s", next)
	}
	g.store.SetReachable(true)
	g.reconcile()
	g.wantPhase(coordination.Running, 1, 0)
}

func TestReplacedLeaderIsRejected(t *testing.T) {
	g := formed(t)
	g.r = g.leader(5)
	g.change(func(js *v1alpha2.JobSet) { js.Annotations[epoch.Annotation] = `{"epoch":2,"base":0}` })
	g.reconcile()
	g.wantPhase(coordination.Forming, 2, 0)
	g.r = g.leader(4)
	g.change(func(js *v1alpha2.JobSet) { js.Annotations[epoch.Annotation] = `{"epoch":3,"base":0}` })
	if _, err := g.r.Reconcile(g.ctx, ctrl.Request{NamespacedName: types.NamespacedName{Namespace: "ns", Name: "js"}}); err == nil {
		t.Error("a leader with a lower token continued")
	}
	g.wantPhase(coordination.Forming, 2, 0)
}

func TestSweepDropsGroupsOfDeletedJobSets(t *testing.T) {
	g := formed(t)
	_, err := grouptest.Open(g.ctx, g.store, "gone", group.Wanted{
		Generation: 1, Limit: 1, Stages: []coordination.Stage{{Prefix: "a-b", Jobs: 1, Pods: 1}},
	})
	g.must(err)
	s := &Sweep{Cache: g.c, Live: g.c, Store: g.store, Tokens: fixedToken{1, 1}}
	if err := s.Once(g.ctx); err != nil {
		t.Fatal(err)
	}
	groups, err := g.store.Tidy(g.ctx)
	if err != nil || len(groups) != 1 || groups[uid] == 0 {
		t.Errorf("groups %v, %v", groups, err)
	}
}
