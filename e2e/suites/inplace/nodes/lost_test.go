//go:build e2e && e2e_all

package nodes

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/holdfast-project/holdfast/e2e/framework"
	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/history"
)

// The JobSet declares nodes that have been unreachable for ten seconds as powered off. There is no other evidence.
func TestANodeLosesPower(t *testing.T) {
	g := start(t, func(js *v1alpha2.JobSet) { js.Annotations[v1alpha2.NodeLostAfterKey] = "10s" })
	off := time.Now()
	g.must(g.Cluster.KillNode(g.ctx, doomed))
	g.awaitDeleted()
	deleted := time.Now()
	g.awaitInSync(1)
	t.Logf("Kubernetes deleted the pods %s after the loss, and %s later all ran elsewhere",
		deleted.Sub(off).Round(time.Second/10), time.Since(deleted).Round(time.Second/10))
	g.expectMoved()

	g.must(g.AwaitAnnotation(g.ctx, g.js, v1alpha2.InPlaceRestartsKey, "1"))
	e, err := g.AwaitEntry(g.ctx, g.js, history.Attempt{Epoch: 1, Round: 1})
	g.must(err)
	t.Logf("the record: %+v", e)
	if e.Cause.Kind != coordination.KindPod || e.Node != g.doomedNode() {
		t.Errorf("the record is %+v, want a pod that was lost on %s", e, g.doomedNode())
	}
	forced := g.events("InPlacePodForced")
	if len(forced) == 0 { // the leader may try several times, and repeated events count as one
		t.Fatal("no event reports a forced deletion")
	}
	for _, e := range forced {
		if !strings.Contains(e.Note, "the kubelet of its node "+g.doomedNode()+" has not been heard from since") {
			t.Errorf("the event says %q", e.Note)
		}
	}
	g.restore(g.ctx)
	g.stay(1)
}

// An unreachable node may still be training. Two workers of the same slot must not run at the same time.
func TestAnUnreachableNodeKeepsItsSlotsUntilItIsMarkedOutOfService(t *testing.T) {
	g := start(t, nil)
	g.must(g.Cluster.KillKubelet(g.ctx, doomed))
	g.awaitDeleted()
	_, err := g.AwaitPhase(g.ctx, g.js, coordination.Restarting, 1, 1) // the other workers stop waiting in a rendezvous
	g.must(err)
	g.expectNobodyElse(8 * time.Second) // the leader checks for evidence every five seconds

	g.taint(g.ctx, true)
	g.awaitInSync(1)
	g.expectMoved()

	g.restore(g.ctx)
	g.must(framework.Until(g.ctx, "the processes that were still running on the node are gone", func(ctx context.Context) error {
		for id, w := range g.lost() {
			if pid, err := g.Cluster.ContainerPID(ctx, w.PodUID, "worker"); err == nil {
				return fmt.Errorf("worker %s is still running as process %d", id, pid)
			}
		}
		return nil
	}))
	g.stay(1)
}

// expectNobodyElse checks that each slot keeps its pod, and that the API server still shows that pod.
func (g *group) expectNobodyElse(period time.Duration) {
	g.Helper()
	known := map[types.UID]bool{}
	for _, w := range g.before {
		known[types.UID(w.PodUID)] = true
	}
	for end := time.Now().Add(period); time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
		pods, err := g.Pods(g.ctx, g.js.Namespace, g.js.Name)
		g.must(err)
		if len(pods) != size {
			g.Fatalf("%d pods, want the previous %d", len(pods), size)
		}
		for _, pod := range pods {
			if !known[pod.UID] || pod.Status.Phase != corev1.PodRunning {
				g.Fatalf("pod %s on %s is %s", pod.Name, pod.Spec.NodeName, pod.Status.Phase)
			}
		}
	}
}
