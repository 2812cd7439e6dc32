package orchestrator

import (
	"context"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
)

// successor creates the pod that the Job controller would create for a slot, and returns what the pod reports about
// itself.
func (g *rig) successor(index int) rounds.Slot {
	g.Helper()
	g.makePod(0, index, func(p *corev1.Pod) {
		ofJob(p)
		p.Name, p.UID, p.CreationTimestamp = p.Name+"-2", p.UID+"-2", metav1.NewTime(g.clock.Now())
	})
	s := slotOf(slotName(0, index), 1)
	return rounds.Slot{Name: s.Name, Pod: s.Pod + "-2"}
}

// remove deletes a pod from the API server.
func (g *rig) remove(index int) *corev1.Pod {
	g.Helper()
	pod := g.changePod(0, index, func(p *corev1.Pod) { p.Finalizers = nil })
	g.must(g.c.Delete(g.ctx, pod))
	return pod
}

func (g *rig) wantAnswer(s rounds.Slot, want rounds.AnswerKind) {
	g.Helper()
	if got := g.tryJoin(s, 1, 1); got != want {
		g.Fatalf("the join of %s returned %q, want %q", s.Pod, got, want)
	}
}

func TestNewPodTakesTheSlotOfADeletedPod(t *testing.T) {
	for name, ends := range map[string]func(*rig){
		"its agent released the slot":          func(g *rig) { g.leave("js-w-0-2", 1, 1); g.see(g.remove(2), true) },
		"the leader has observed its deletion": func(g *rig) { g.see(g.remove(2), true) },
		"no leader has observed its deletion":  func(g *rig) { g.remove(2); g.r = g.leader(2) },
		"no leader has observed its deletion, and a restart was in progress": func(g *rig) {
			g.fail("js-w-0-0", 1, 1)
			g.reconcile()
			g.remove(2)
			g.r = g.leader(2)
		},
		"no leader has observed its failure": func(g *rig) { g.changePod(0, 2, failed); g.r = g.leader(2) },
	} {
		t.Run(name, func(t *testing.T) {
			g := fourPods(t)
			g.clock.SetTime(g.clock.Now().Add(time.Hour))
			ends(g)
			next := g.successor(2)
			if answer := g.tryJoin(next, 1, 1); answer != rounds.AnswerHeld && name != "its agent released the slot" {
				t.Fatalf("the first join returned %q", answer)
			}
			g.reconcile()
			g.pass(time.Second)
			g.wantPhase(coordination.Restarting, 1, 1)
			g.joinPod(next, 1, 1)
			for _, slot := range []string{"js-w-0-0", "js-w-0-1", "js-w-0-3"} {
				g.joinSlot(slot, 1, 2)
			}
			g.reconcile()
			if sum := g.group(); sum.Joined != 4 || sum.Generation != 1 {
				t.Errorf("%+v", sum)
			}
		})
	}
}

func TestSlotOfAFormingGroupIsReleased(t *testing.T) {
	g := startForming(t, nil)
	g.changeJob(func(job *batchv1.Job) { job.Spec.Template.Labels = map[string]string{v1alpha2.JobKey: "key"} })
	g.joinSlot("js-w-0-1", 1, 1)
	g.remove(1)
	g.r = g.leader(2)
	next := g.successor(1)
	g.wantAnswer(next, rounds.AnswerHeld)
	g.reconcile()
	g.pass(time.Second)
	g.joinPod(next, 1, 1)
	g.wantPhase(coordination.Forming, 1, 0)
}

// Two pods of one slot never run at the same time, because the worker in the old pod may still be saving a checkpoint.
func TestLivingPodKeepsItsSlot(t *testing.T) {
	for name, change := range map[string]func(*corev1.Pod){
		"it runs":             func(*corev1.Pod) {},
		"it is being deleted": func(p *corev1.Pod) { p.DeletionGracePeriodSeconds = ptr.To[int64](30) },
	} {
		t.Run(name, func(t *testing.T) {
			g := fourPods(t)
			pod := g.changePod(0, 2, change)
			if pod.DeletionGracePeriodSeconds != nil {
				g.must(g.c.Delete(g.ctx, pod)) // its finalizer keeps it
			}
			g.r = g.leader(2)
			liveLists := 0
			g.r.Live = g.through(interceptor.Funcs{
				List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
					liveLists++
					return c.List(ctx, list, opts...)
				},
			})
			next := g.successor(2)
			for range 5 {
				g.wantAnswer(next, rounds.AnswerHeld)
				g.pass(time.Second)
			}
			g.wantPhase(coordination.Running, 1, 0)
			if g.group().IsFenced(string(pod.UID)) {
				t.Error("the pod is fenced")
			}
			if liveLists > 0 {
				t.Errorf("%d live List calls, although the cache has the pod", liveLists)
			}
		})
	}
}

// Each list copies the pods from the cache, which takes several megabytes for 5,000 pods.
func TestReconcileListsPodsOnce(t *testing.T) {
	g := fourPods(t)
	lists := 0
	g.r.Client = g.through(interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			if _, ok := list.(*corev1.PodList); ok {
				lists++
			}
			return c.List(ctx, list, opts...)
		},
	})
	g.reconcile()
	if lists != 1 {
		t.Errorf("%d lists, want 1", lists)
	}
}

// The pod is not in the cache, but it still exists in the API server.
func TestSlotIsReadLiveBeforeItIsReleased(t *testing.T) {
	g := fourPods(t)
	g.r = g.leader(2)
	g.r.Client = g.through(interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			err := c.List(ctx, list, opts...)
			if pods, ok := list.(*corev1.PodList); ok {
				pods.Items = without(pods.Items, "js-w-0-2")
			}
			return err
		},
	})
	next := g.successor(2)
	g.wantAnswer(next, rounds.AnswerHeld)
	g.reconcile()
	g.pass(time.Second)
	g.wantAnswer(next, rounds.AnswerHeld)
	g.wantPhase(coordination.Running, 1, 0)
}

func TestReplacedLeaderReleasesNoSlot(t *testing.T) {
	g := fourPods(t)
	g.remove(2)
	next := g.successor(2)
	g.takeOver(9)
	g.r = g.leader(8)
	if _, err := g.r.Reconcile(g.ctx, request()); err == nil {
		t.Error("the leader was not rejected")
	}
	g.wantAnswer(next, rounds.AnswerHeld)
}

// asksWho counts the slots whose holders are read from the store.
type asksWho struct {
	rounds.Leader
	n int
}

func (a *asksWho) Look(ctx context.Context, group, table string, slots []string) (map[string]string, error) {
	if table == rounds.KeysOf(group).Holders(1) {
		a.n += len(slots)
	}
	return a.Leader.Look(ctx, group, table, slots)
}

func TestStoreIsAskedOnceForTheHolderOfASlot(t *testing.T) {
	g := fourPods(t)
	g.r = g.leader(2)
	store := &asksWho{Leader: g.store}
	g.r.Store = store
	for range 5 {
		g.pass(time.Minute)
	}
	if store.n != 4 {
		t.Errorf("the store is asked about %d slots, want 4", store.n)
	}
}

// A released pod may still be running somewhere, and must not get its slot again.
func TestLostFencesAreRestored(t *testing.T) {
	for name, lose := range map[string]func(*rig){
		"all data":             func(g *rig) { g.store.Wipe() },
		"only the newest data": func(g *rig) {},
	} {
		t.Run(name, func(t *testing.T) {
			g := fourPods(t)
			before := g.store.Dump()
			g.see(g.remove(2), true)
			g.reconcile()
			old := slotOf("js-w-0-2", 1)
			if !g.group().IsFenced(old.Pod) {
				t.Fatal("the pod is not fenced")
			}
			g.store.Restore(before)
			lose(g)
			g.reconcile()
			if !g.group().IsFenced(old.Pod) {
				t.Errorf("the fence is lost: %v", g.group().Fenced)
			}
			g.wantAnswer(old, rounds.AnswerFenced)
		})
	}
}
