package orchestrator

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/leader"
)

// A pod is fenced if its node was considered lost, or if a leader that could not reach the pod released it.
func TestFencedPodIsReplaced(t *testing.T) {
	g := fourPods(t)
	g.release(1, slotOf("js-w-0-1", 1))
	g.reconcile()
	g.wantPhase(coordination.Restarting, 1, 1)
	g.wantDeleted("pod js-w-0-1")
	g.wantEvents("restarting all 4 workers in place", "worker js-w-0-1 "+leader.Fenced)
	gone := g.pod(0, 1)
	gone.Finalizers = nil
	g.must(g.c.Update(g.ctx, gone))
	g.see(gone, true)
	g.reconcile()
	g.wantPods("1", 1)
	g.wantCharged("1")
}

// While the slot has a newer pod, the leader leaves the fenced pod to the Job controller.
func TestFencedPodBesideALivingPodIsLeftToTheJobController(t *testing.T) {
	g := fourPods(t)
	g.makePod(0, 1, func(p *corev1.Pod) {
		ofJob(p)
		p.Name, p.UID, p.CreationTimestamp = "twin", "twin", metav1.NewTime(g.clock.Now())
	})
	g.release(1, slotOf("js-w-0-1", 1))
	g.reconcile()
	g.pass(6 * time.Second)
	g.pass(6 * time.Second)
	g.wantDeleted()
}

func TestReplacedLeaderDeletesNoFencedPod(t *testing.T) {
	g := fourPods(t)
	g.release(1, slotOf("js-w-0-1", 1))
	g.takeOver(9)
	_, _ = g.r.Reconcile(g.ctx, request())
	g.wantDeleted()
}
