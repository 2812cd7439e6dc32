package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
	"github.com/holdfast-project/holdfast/shared/coordination/simulation/grouptest"
)

// fourPods returns a group in sync with one Job of four pods, as created by the Job controller.
func fourPods(t *testing.T) *rig { return podsInSync(t, 4) }

// podsInSync returns a group in sync with one Job of n pods, as created by the Job controller.
func podsInSync(t *testing.T, n int32) *rig {
	g := newRig(t, func(js *v1alpha2.JobSet) {
		spec := &js.Spec.ReplicatedJobs[0].Template.Spec
		spec.Parallelism, spec.Completions = ptr.To(n), ptr.To(n)
	})
	g.changeJob(func(job *batchv1.Job) {
		job.Labels[v1alpha2.ReplicatedJobNameKey], job.Labels[v1alpha2.JobIndexKey] = "w", "0"
		job.Spec.Parallelism, job.Spec.Completions = ptr.To(n), ptr.To(n)
		job.Spec.CompletionMode = ptr.To(batchv1.IndexedCompletion)
		job.Spec.Template.Labels = map[string]string{v1alpha2.JobKey: "key"}
		job.Spec.Template.Annotations = g.template()
		job.Status.Active = n
	})
	g.reconcile()
	for index := range int(n) {
		g.makePod(0, index, ofJob)
		g.joinSlot(slotName(0, index), 1, 1)
	}
	g.reconcile()
	g.wantReason("InSync")
	g.wantEvents()
	return g
}

// template returns the annotations that the controller sets on every pod.
func (g *rig) template() map[string]string {
	return map[string]string{
		v1alpha2.JobSetNameKey: "js", v1alpha2.JobSetUIDKey: uid, v1alpha2.ReplicatedJobNameKey: "w", v1alpha2.JobIndexKey: "0",
	}
}

func ofJob(pod *corev1.Pod) {
	pod.Labels = map[string]string{
		v1alpha2.JobKey: "key", batchv1.JobCompletionIndexAnnotation: pod.Annotations[batchv1.JobCompletionIndexAnnotation],
	}
	pod.Spec.NodeName = "n1"
}

func failed(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }

// podsOf lists a slot's pods that have not finished.
func (g *rig) podsOf(index string) []corev1.Pod {
	g.Helper()
	var list corev1.PodList
	g.must(g.c.List(g.ctx, &list, client.MatchingLabels{batchv1.JobCompletionIndexAnnotation: index}))
	var living []corev1.Pod
	for _, p := range list.Items {
		if p.Status.Phase != corev1.PodFailed && p.DeletionTimestamp.IsZero() {
			living = append(living, p)
		}
	}
	return living
}

func (g *rig) wantPods(index string, n int) {
	g.Helper()
	if pods := g.podsOf(index); len(pods) != n {
		g.Fatalf("%d pods of index %s live, want %d", len(pods), index, n)
	}
}

// lose makes a pod fail, as if its node had evicted it, and delivers the event to the leader.
func (g *rig) lose(index int) *corev1.Pod {
	g.Helper()
	pod := g.changePod(0, index, failed)
	g.see(pod, false)
	return pod
}

const madeAnew = "lost its pod; created a replacement"

func TestLostPodIsReplacedAndChargedOnce(t *testing.T) {
	g := fourPods(t)
	g.lose(2)
	g.reconcile()
	g.wantPhase(coordination.Restarting, 1, 1)
	g.wantPods("2", 1)
	made := g.podsOf("2")[0]
	if owner := metav1.GetControllerOf(&made); owner == nil || owner.UID != "job-uid" || !strings.HasPrefix(made.Name, "js-w-0-2-") {
		t.Errorf("created %s, owned by %+v", made.Name, owner)
	}
	g.wantEvents("the pod of worker js-w-0-2 was lost", "worker js-w-0-2 "+madeAnew+" ("+made.Name+")")
	g.pass(5 * time.Second)
	g.r = g.leader(2)
	g.pass(5 * time.Second)
	g.wantPods("2", 1)
	g.wantEvents()
	for _, slot := range []string{"js-w-0-0", "js-w-0-1", "js-w-0-3"} {
		g.joinSlot(slot, 1, 2)
	}
	g.joinPod(rounds.Slot{Name: "js-w-0-2", Pod: "new"}, 1, 1)
	g.reconcile()
	g.wantPhase(coordination.Running, 1, 1)
	g.wantCharged("1")
}

// The worker may still be saving a checkpoint, and two pods of one slot never run at the same time.
func TestTerminatingPodIsReplacedAfterItHasEnded(t *testing.T) {
	g := fourPods(t)
	g.must(g.c.Delete(g.ctx, g.changePod(0, 1, func(p *corev1.Pod) { p.DeletionGracePeriodSeconds = ptr.To[int64](30) })))
	g.changePod(0, 1, func(p *corev1.Pod) { p.DeletionGracePeriodSeconds = ptr.To[int64](30) })
	g.fail("js-w-0-1", 1, 1)
	g.reconcile()
	g.wantPhase(coordination.Restarting, 1, 1)
	g.wantPods("1", 0)
	gone := g.pod(0, 1)
	gone.Finalizers = nil
	g.must(g.c.Update(g.ctx, gone)) // removes the last finalizer
	g.see(gone, true)
	g.reconcile()
	g.wantPods("1", 1)
	g.wantEvents("restarting all 4 workers in place", "worker js-w-0-1 "+madeAnew)
}

// The pod was lost while there was no leader. The new leader can only find that it does not exist.
func TestPodLostWithoutALeaderIsReplaced(t *testing.T) {
	g := fourPods(t)
	g.must(g.c.Delete(g.ctx, g.changePod(0, 3, func(p *corev1.Pod) { p.Finalizers = nil })))
	g.r = g.leader(2)
	g.reconcile()
	g.wantPods("3", 1)
	g.wantPhase(coordination.Running, 1, 0) // until the new pod joins, because nothing shows which pod held the slot
}

func TestNoPodIsCreatedFor(t *testing.T) {
	cases := map[string]struct {
		prepare func(*rig)
		phase   coordination.Phase
	}{
		"a Job that is suspended": {func(g *rig) {
			g.changeJob(func(job *batchv1.Job) { job.Spec.Suspend = ptr.To(true) })
		}, coordination.Restarting},
		"a worker that has finished": {func(g *rig) {
			g.changePod(0, 2, func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded })
		}, coordination.Running},
		"a JobSet that is suspended": {func(g *rig) {
			g.change(func(js *v1alpha2.JobSet) { js.Spec.Suspend = ptr.To(true) })
		}, coordination.Closed},
		"a JobSet that has failed": {func(g *rig) {
			js := g.jobSet()
			js.Status.TerminalState = string(v1alpha2.JobSetFailed)
			g.must(g.c.Status().Update(g.ctx, js))
		}, ""},
		"a JobSet without restarts left": {func(g *rig) {
			g.change(func(js *v1alpha2.JobSet) { js.Spec.FailurePolicy = nil })
			g.reconcile()
		}, coordination.Terminal},
		"a leader that was replaced": {func(g *rig) {
			g.takeOver(9)
		}, coordination.Running},
		"a Job that is about to create its pods": {func(g *rig) {
			g.changeJob(func(job *batchv1.Job) { job.Status.Active = 3 })
		}, coordination.Restarting},
		"pods whose labels are not the Job's": {func(g *rig) {
			g.changeJob(func(job *batchv1.Job) { job.Spec.Template.Labels = nil })
		}, coordination.Restarting},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			g := fourPods(t)
			c.prepare(g)
			if g.pod(0, 2).Status.Phase == corev1.PodRunning {
				g.lose(2)
			}
			_, _ = g.r.Reconcile(g.ctx, request())
			if pods := g.podsOf("2"); len(pods) > 0 && pods[0].Name != "js-w-0-2" {
				t.Errorf("created %s", pods[0].Name)
			}
			if sum, _ := grouptest.Read(g.ctx, g.store, uid); sum.Phase != c.phase {
				t.Errorf("phase %s, want %s", sum.Phase, c.phase)
			}
		})
	}
}

// While a group is forming, no worker has trained yet, and no timeout stops pods that keep failing as soon as they
// start.
func TestPodsOfAFormingGroupAreLeftToTheJob(t *testing.T) {
	g := newRig(t, nil)
	g.changeJob(func(job *batchv1.Job) {
		job.Labels[v1alpha2.ReplicatedJobNameKey] = "w"
		job.Spec.Parallelism, job.Spec.Completions = ptr.To[int32](2), ptr.To[int32](2)
		job.Spec.CompletionMode = ptr.To(batchv1.IndexedCompletion)
		job.Status.Active = 2
		job.Spec.Template.Labels = map[string]string{v1alpha2.JobKey: "key"}
	})
	g.reconcile()
	g.makePod(0, 0, ofJob)
	g.lose(0)
	g.reconcile()
	g.wantPhase(coordination.Forming, 1, 0)
	g.wantPods("0", 0)
}

// through returns a client whose calls are intercepted.
func (g *rig) through(f interceptor.Funcs) client.WithWatch {
	return interceptor.NewClient(g.c.(client.WithWatch), f)
}

// The leader's cache never advances beyond the loss. The API server has newer pods.
func TestStaleCacheCreatesNoSecondPod(t *testing.T) {
	g := fourPods(t)
	g.lose(2)
	var before corev1.PodList
	g.must(g.c.List(g.ctx, &before))
	create, made := withUIDs(), 0
	g.r.Client = g.through(interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			if pods, ok := list.(*corev1.PodList); ok {
				before.DeepCopyInto(pods)
				return nil
			}
			return c.List(ctx, list, opts...)
		},
		Create: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.CreateOption) error {
			made++
			return create(ctx, c, obj, opts...)
		},
	})
	for range 4 {
		g.pass(10 * time.Second)
	}
	if g.wantPods("2", 1); made != 1 {
		t.Errorf("%d pods were created", made)
	}
}

// The Job has just been suspended, and the cache does not show it yet.
func TestStaleCacheCreatesNoPodInASuspendedJob(t *testing.T) {
	g := fourPods(t)
	g.lose(2)
	g.r.Live = g.through(interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
			err := c.Get(ctx, key, obj, opts...)
			if job, ok := obj.(*batchv1.Job); ok {
				job.Spec.Suspend = ptr.To(true)
			}
			return err
		},
	})
	g.reconcile()
	g.wantPods("2", 0)
}

// recordLists records the options of all further live List calls.
func (g *rig) recordLists() *[]metav1.ListOptions {
	asked := &[]metav1.ListOptions{}
	g.r.Live = g.through(interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			all := (&client.ListOptions{}).ApplyOptions(opts)
			*asked = append(*asked, *all.AsListOptions())
			all.Raw = nil
			return c.List(ctx, list, all)
		},
	})
	return asked
}

// Listing pods from etcd takes seconds if a namespace has thousands of them. A list at the version of the loss, or at a
// later one, is sufficient.
func TestLostSlotIsReadAtTheVersionOfItsLoss(t *testing.T) {
	g := fourPods(t)
	lost := g.lose(2)
	asked := g.recordLists()
	g.reconcile()
	g.wantPods("2", 1)
	if len(*asked) == 0 || (*asked)[0].ResourceVersion != lost.ResourceVersion || (*asked)[0].ResourceVersionMatch != metav1.ResourceVersionMatchNotOlderThan {
		t.Errorf("the slot's pods were listed with %+v, want the version of the loss, %s", *asked, lost.ResourceVersion)
	}
}

// If many pods are lost, the reconcile that observes their loss does not read all slots. Later reconciles read the
// rest.
func TestASlotLostEarlierIsReadAtTheVersionOfTheOtherPods(t *testing.T) {
	g := fourPods(t)
	g.must(g.c.Delete(g.ctx, g.changePod(0, 2, func(p *corev1.Pod) { p.Finalizers = nil })))
	newest := g.changePod(0, 1, func(p *corev1.Pod) { metav1.SetMetaDataAnnotation(&p.ObjectMeta, "changed", "yes") })
	asked := g.recordLists()
	g.reconcile()
	g.wantPods("2", 1)
	if len(*asked) == 0 || (*asked)[0].ResourceVersion != newest.ResourceVersion || (*asked)[0].ResourceVersionMatch != metav1.ResourceVersionMatchNotOlderThan {
		t.Errorf("the slot's pods were listed with %+v, want the version of the newest pod, %s", *asked, newest.ResourceVersion)
	}
}

// There is no slot to release, but the leader must still confirm with the store that it has not been replaced.
func TestReplacedLeaderCreatesNoPod(t *testing.T) {
	g := fourPods(t)
	g.must(g.c.Delete(g.ctx, g.changePod(0, 3, func(p *corev1.Pod) { p.Finalizers = nil })))
	g.takeOver(9)
	if _, err := g.r.Reconcile(g.ctx, request()); err == nil {
		t.Error("the leader was not rejected")
	}
	g.wantPods("3", 0)
}

// Both leaders have read the pods before either of them has created its pod.
func TestTwoLeadersCreateOnePod(t *testing.T) {
	g := fourPods(t)
	g.lose(2)
	g.reconcile()
	g.wantPods("2", 1)
	made := g.podsOf("2")[0].Name
	var refused []string
	second := g.leader(2)
	second.Live = g.through(interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			err := c.List(ctx, list, opts...)
			if pods, ok := list.(*corev1.PodList); ok {
				pods.Items = without(pods.Items, made)
			}
			return err
		},
	})
	second.Client = g.through(interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			return second.Live.List(ctx, list, opts...)
		},
		Create: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.CreateOption) error {
			err := c.Create(ctx, obj, opts...)
			if apierrors.IsAlreadyExists(err) {
				refused = append(refused, obj.GetName())
			}
			return err
		},
	})
	g.r = second
	g.reconcile()
	g.wantPods("2", 1)
	if len(refused) != 1 || refused[0] != made {
		t.Errorf("the API server refused %v, want %s once", refused, made)
	}
}

func without(pods []corev1.Pod, name string) []corev1.Pod {
	var rest []corev1.Pod
	for _, p := range pods {
		if p.Name != name {
			rest = append(rest, p)
		}
	}
	return rest
}

// A pod that fails before its slot has joined does not count as a restart. It is recreated with an increasing delay.
func TestPodLostAgainIsReplacedAfterADelay(t *testing.T) {
	g := fourPods(t)
	g.lose(2)
	g.r.Client = g.through(interceptor.Funcs{Create: withUIDs()})
	g.reconcile()
	loseAgain := func() {
		for _, p := range g.podsOf("2") {
			p.Status.Phase = corev1.PodFailed
			g.must(g.c.Status().Update(g.ctx, &p))
		}
	}
	loseAgain()
	if again := g.reconcile(); again > time.Second {
		t.Errorf("the next reconcile is in %s", again)
	}
	g.wantPods("2", 0)
	g.pass(time.Second)
	g.wantPods("2", 1)
	loseAgain()
	g.pass(time.Second)
	g.wantPods("2", 0)
	g.pass(time.Second)
	g.wantPods("2", 1)
}

// withUIDs sets the UID of new objects, which the fake API server does not set.
func withUIDs() func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error {
	n := 0
	return func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.CreateOption) error {
		n++
		obj.SetUID(types.UID(fmt.Sprint("made-", n)))
		return c.Create(ctx, obj, opts...)
	}
}

func TestPodThatTheAPIServerRejectsIsLeftToTheJob(t *testing.T) {
	g := fourPods(t)
	g.lose(2)
	g.r.Client = g.through(interceptor.Funcs{
		Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error {
			return apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "p", context.Canceled)
		},
	})
	for range 5 {
		g.pass(2 * time.Second)
	}
	g.wantPods("2", 0)
	g.wantEvents("the pod of worker js-w-0-2 was lost", "the API server rejected a replacement")
}

// inPlan is the maximum number of slots or nodes that a single plan of package leader covers.
const inPlan = 50

// The calls of each plan take a long time, and the API server rejects all of them. The reconcile continues before all
// pods have been tried.
func TestRejectedReplacementsDoNotBlockTheLeader(t *testing.T) {
	const lost = inPlan + 4
	g := podsInSync(t, lost)
	for index := range lost {
		g.lose(index)
	}
	var tried atomic.Int32
	g.r.Client = g.through(interceptor.Funcs{
		Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error {
			if tried.Add(1)%inPlan == 0 {
				g.clock.SetTime(g.clock.Now().Add(turnFor))
			}
			return apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "p", context.Canceled)
		},
	})
	if again := g.reconcile(); tried.Load() != inPlan || again > time.Millisecond {
		t.Errorf("%d were tried, and the next reconcile is in %s", tried.Load(), again)
	}
}

// A rack is lost. The calls for its pods are made concurrently: each call waits until the calls for all lost pods have
// started.
func TestLostPodsAreReplacedInParallel(t *testing.T) {
	g := fourPods(t)
	for index := range 4 {
		g.lose(index)
	}
	together := func() func() error {
		var inFlight sync.WaitGroup
		inFlight.Add(4)
		return func() error {
			inFlight.Done()
			all := make(chan struct{})
			go func() { inFlight.Wait(); close(all) }()
			select {
			case <-all:
				return nil
			case <-time.After(10 * time.Second):
				return errors.New("the calls are made one after the other")
			}
		}
	}
	create := together()
	uid := withUIDs()
	var creating sync.Mutex
	lists := g.recordLists()
	g.r.Client = g.through(interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.CreateOption) error {
			err := create()
			creating.Lock()
			defer creating.Unlock()
			return errors.Join(err, uid(ctx, c, obj, opts...))
		},
	})
	g.reconcile()
	for index := range 4 {
		g.wantPods(fmt.Sprint(index), 1)
	}
	if len(*lists) != 1 {
		t.Errorf("the pods of four slots were listed %d times, want once", len(*lists))
	}
}

// unreachable returns a group in which a pod is terminating on a node that is not ready. The pod's grace period of 30 s
// has just begun.
func unreachable(t *testing.T, change func(*v1alpha2.JobSet), nodes ...*corev1.Node) *rig {
	g := fourPods(t)
	if change != nil {
		g.change(change)
	}
	for _, n := range nodes {
		g.must(g.c.Create(g.ctx, n))
	}
	pod := g.pod(0, 1)
	g.must(g.c.Delete(g.ctx, pod))
	until := metav1.NewTime(g.clock.Now().Add(30 * time.Second))
	g.r.Client = g.through(interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			err := c.List(ctx, list, opts...)
			if pods, ok := list.(*corev1.PodList); ok {
				for i := range pods.Items {
					pods.Items[i] = *ends(&pods.Items[i], until)
				}
			}
			return err
		},
	})
	g.r.Live = g.through(interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
			err := c.Get(ctx, key, obj, opts...)
			if p, ok := obj.(*corev1.Pod); ok {
				ends(p, until)
			}
			return err
		},
	})
	return g
}

// ends sets the end of a pod's grace period, which the fake API server does not do.
func ends(p *corev1.Pod, until metav1.Time) *corev1.Pod {
	if !p.DeletionTimestamp.IsZero() {
		p.DeletionTimestamp, p.DeletionGracePeriodSeconds = &until, ptr.To[int64](30)
	}
	return p
}

func unreadyNode(since time.Time) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}, Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{
		{Type: corev1.NodeReady, Status: corev1.ConditionUnknown, LastTransitionTime: metav1.NewTime(since)},
	}}}
}

func request() ctrl.Request {
	return ctrl.Request{NamespacedName: types.NamespacedName{Namespace: "ns", Name: "js"}}
}

func TestPodOnADeletedNodeIsForceDeleted(t *testing.T) {
	g := unreachable(t, nil)
	forced := newMeter(t, metric(t, "holdfast_inplace_forced_deletions_total"))
	g.pass(4 * time.Second)
	g.wantPhase(coordination.Running, 1, 0)
	g.pass(2 * time.Second)
	g.wantPhase(coordination.Restarting, 1, 1)
	g.wantEvents("restarting all 4 workers in place", "js-w-0-1 is terminating, and its node is gone; force-deleted")
	forced.want(1)
}

func TestPodOnAnUnreadyNodeIsReleasedButNotDeleted(t *testing.T) {
	g := unreachable(t, nil, unreadyNode(time.Unix(0, 0)))
	g.pass(29 * time.Second)
	g.wantPhase(coordination.Running, 1, 0)
	g.pass(2 * time.Second)
	g.wantPhase(coordination.Restarting, 1, 1)
	g.pass(20 * time.Second)
	g.wantPods("1", 0)
	g.wantEvents("restarting all 4 workers in place")
}

func TestPodIsForceDeletedAfterNodeLostAfter(t *testing.T) {
	after := func(js *v1alpha2.JobSet) { js.Annotations[v1alpha2.NodeLostAfterKey] = "1m" }
	g := unreachable(t, after, unreadyNode(time.Unix(1000, 0).Add(-50*time.Second)))
	g.pass(6 * time.Second)
	g.wantPhase(coordination.Running, 1, 0)
	g.pass(5 * time.Second)
	g.wantPhase(coordination.Restarting, 1, 1)
	g.wantEvents("restarting all 4 workers in place", "which is 1m0s or more; force-deleted")
}

// failedOver returns a group in which a restart has timed out because of a node that has been silent for less than
// node-lost-after. All Jobs are being deleted, but the Job with a pod on that node remains, and so does the pod.
func failedOver(t *testing.T) *rig {
	after := func(js *v1alpha2.JobSet) { js.Annotations[v1alpha2.NodeLostAfterKey] = "5m" }
	g := unreachable(t, after, unreadyNode(time.Unix(1000, 0)))
	g.pass(31 * time.Second)
	g.wantPhase(coordination.Restarting, 1, 1)
	g.pass(61 * time.Second)
	g.wantPhase(coordination.Forming, 2, 0)
	if g.job().DeletionTimestamp.IsZero() {
		t.Fatal("the Job is not being deleted")
	}
	g.wantEvents("restarting all 4 workers in place", "deleting all Jobs")
	return g
}

const byForce = "js-w-0-1 is terminating, and the kubelet of its node n1 has not been heard from since 1970-01-01T00:16:40Z, which is 5m0s or more; force-deleted"

// The pod's slot is no longer needed, but its Job is waiting for the pod to terminate, and the next Job is waiting for
// that Job.
func TestPodOfATerminatingJobIsForceDeleted(t *testing.T) {
	g := failedOver(t)
	g.pass(200 * time.Second) // the node has now been silent for 292 s
	g.wantEvents("4 of 4 workers have not joined: js-w-0-0: waiting for Job js-w-0 from an earlier epoch to be deleted")
	if next := g.reconcile(); next > 5*time.Second {
		t.Errorf("the next reconcile is in %s", next)
	}
	g.pass(10 * time.Second)
	g.wantPhase(coordination.Forming, 2, 0)
	g.wantEvents(byForce)
}

func TestPodIsNotForceDeleted(t *testing.T) {
	for name, prepare := range map[string]func(*rig){
		"of a JobSet that is suspended": func(g *rig) {
			g.change(func(js *v1alpha2.JobSet) { js.Spec.Suspend = ptr.To(true) })
		},
		"of a JobSet that has failed": func(g *rig) {
			js := g.jobSet()
			js.Status.TerminalState = string(v1alpha2.JobSetFailed)
			g.must(g.c.Status().Update(g.ctx, js))
		},
		"on a node whose kubelet reports": func(g *rig) {
			node := unreadyNode(time.Unix(1000, 0))
			g.must(g.c.Get(g.ctx, client.ObjectKeyFromObject(node), node))
			node.Status.Conditions[0].Status = corev1.ConditionTrue
			g.must(g.c.Status().Update(g.ctx, node))
		},
		"of another JobSet's Job, whatever its labels": func(g *rig) {
			g.changePod(0, 1, func(p *corev1.Pod) { p.OwnerReferences[0].UID = "other-job" })
		},
		"that has failed": func(g *rig) { g.changePod(0, 1, failed) },
	} {
		t.Run(name, func(t *testing.T) {
			g := failedOver(t)
			prepare(g)
			g.pass(300 * time.Second)
			for len(g.events.Events) > 0 {
				if e := <-g.events.Events; strings.Contains(e, "by force") {
					t.Error(e)
				}
			}
		})
	}
}

// All pods of a terminating Job terminate at the same time, most of them on healthy nodes.
func TestNodesAreReadInChunks(t *testing.T) {
	g := failedOver(t)
	for index := range 2 * inPlan {
		g.makePod(0, index+10, func(p *corev1.Pod) { ofJob(p); p.Spec.NodeName = fmt.Sprint("n", index+10) })
		g.must(g.c.Delete(g.ctx, g.pod(0, index+10)))
	}
	var read atomic.Int32
	live := g.r.Live.(client.WithWatch)
	g.r.Live = interceptor.NewClient(live, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
			if _, ok := obj.(*corev1.Node); ok {
				if read.Add(1) == inPlan {
					g.clock.SetTime(g.clock.Now().Add(turnFor))
				}
			}
			return c.Get(ctx, key, obj, opts...)
		},
	})
	g.pass(5 * time.Second)
	if next := g.reconcile(); read.Load() != inPlan || next < time.Second {
		t.Errorf("%d nodes were read in a reconcile, the next one is in %s", read.Load(), next)
	}
}
