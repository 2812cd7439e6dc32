package orchestrator

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/epoch"
)

// joinAs lets another pod than the slot's own join.
func (g *rig) joinAs(slot, pod string, born int64) error {
	g.Helper()
	m, i := member(slot, 1, 1)
	m.Pod, m.PodBorn, i.ID, i.Born = pod, born, pod+"/1", born*100
	_, err := g.store.Join(g.ctx, uid, coordination.Join{Member: m, Instance: i, Seen: coordination.Unseen()})
	return err
}

// Somebody else made the younger one, and took it away. The store listened to it, so the elder can never join again.
func TestTheElderOfTwoPodsIsReplacedWhenTheYoungerHasGone(t *testing.T) {
	g := fourPods(t)
	g.must(g.joinAs("js-w-0-1", "twin", 2))
	_, err := g.store.Evict(g.ctx, uid, coordination.Token{LeaseCreated: 1, Transitions: 1}, "js-w-0-1", "twin")
	g.must(err)
	g.reconcile()
	g.wantPhase(coordination.Restarting, 1, 1)
	g.pass(4 * time.Second)
	g.wantDeleted()
	g.wantEvents("restarting all 4 workers in place")
	g.pass(2 * time.Second)
	g.wantDeleted("pod js-w-0-1")
	g.wantEvents("worker js-w-0-1 " + fenced)
	gone := g.pod(0, 1)
	gone.Finalizers = nil
	g.must(g.c.Update(g.ctx, gone))
	g.see(gone, true)
	g.reconcile()
	g.wantPods("1", 1)
	g.wantCharged("1")
}

// As long as the younger one is there, the slot has somebody.
func TestTheElderOfTwoPodsIsLeftToTheJobController(t *testing.T) {
	g := fourPods(t)
	g.makePod(0, 1, func(p *corev1.Pod) {
		ofJob(p)
		p.Name, p.UID, p.CreationTimestamp = "twin", "twin", metav1.NewTime(g.clock.Now())
	})
	g.must(g.joinAs("js-w-0-1", "twin", 2))
	g.reconcile()
	g.pass(6 * time.Second)
	g.pass(6 * time.Second)
	g.wantDeleted()
}

// It told no epoch, because its manifest is older than that, and joined the one before; nobody led.
func TestAPodThatWasEarlyForItsEpochIsDeleted(t *testing.T) {
	g := fourPods(t)
	g.change(func(js *v1alpha2.JobSet) { js.Annotations[epoch.Annotation] = `{"epoch":2,"base":0}` })
	g.reconcile()
	g.wantPhase(coordination.Forming, 2, 0)
	g.pass(resyncEvery - time.Second)
	g.wantDeleted()
	g.pass(2 * time.Second)
	g.wantDeleted("pod js-w-0-0", "pod js-w-0-1", "pod js-w-0-2", "pod js-w-0-3")
}

func TestALeaderThatWasReplacedDeletesNoFencedPod(t *testing.T) {
	g := fourPods(t)
	g.must(g.joinAs("js-w-0-1", "twin", 2))
	g.reconcile()
	_, err := g.store.Evict(g.ctx, uid, coordination.Token{LeaseCreated: 1, Transitions: 9}, "js-w-0-1", "twin")
	g.must(err)
	g.clock.SetTime(g.clock.Now().Add(10 * time.Second))
	_, _ = g.r.Reconcile(g.ctx, request())
	g.wantDeleted()
}
