//go:build e2e && e2e_all

package failures

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/e2e/framework"
)

const (
	orchestrator = "orchestrator" // the container, and the component
	lease        = "holdfast-orchestrator"
)

func TestTheLeaderIsKilled(t *testing.T) {
	t.Run("at rest", func(t *testing.T) {
		inTurn(t, func(t *testing.T, d driver) {
			g := start(t, d, workload{})
			g.restart()
			g.replaceLeader(unix.SIGKILL)
			g.stay(quiet)
			g.restart()
		})
	})
	t.Run("in the middle of a restart", func(t *testing.T) {
		inTurn(t, func(t *testing.T, d driver) {
			g := start(t, d, stubborn)
			g.breakOff()
			g.replaceLeader(unix.SIGKILL)
			g.settle(once)
			g.restart()
		})
	})
}

// A leader that is stopped for longer than its lease duration finds another leader when it continues, and exits.
func TestTheLeaderFreezesInTheMiddleOfARestart(t *testing.T) {
	inTurn(t, func(t *testing.T, d driver) {
		g := start(t, d, stubborn)
		g.breakOff()
		frozen := g.leader()
		t.Cleanup(func() { g.thaw(context.Background(), frozen) })
		g.replaceLeader(unix.SIGSTOP)
		g.settle(once)
		g.thaw(g.ctx, frozen)
		g.awaitOrchestrator(frozen)
		g.stay(quiet)
		g.restart()
	})
}

func TestTheManagerIsKilledInTheMiddleOfARestart(t *testing.T) {
	inTurn(t, func(t *testing.T, d driver) {
		g := start(t, d, stubborn)
		g.breakOff()
		for _, pod := range g.managers() {
			_, err := g.SignalContainer(g.ctx, string(pod.UID), "manager", unix.SIGKILL)
			g.must(err)
		}
		g.settle(once)
	})
}

// replaceLeader sends the leader a signal that ends its leadership, and returns once another process leads.
func (g *group) replaceLeader(s unix.Signal) {
	g.Helper()
	was, pod := g.holder(), g.leader()
	_, err := g.SignalContainer(g.ctx, string(pod.UID), orchestrator, s)
	g.must(err)
	g.must(framework.Until(g.ctx, "another orchestrator leads", func(context.Context) error {
		if is := g.holder(); is == was || is == "" {
			return fmt.Errorf("the leader is %q", is)
		}
		return nil
	}))
}

// holder returns the identity of the leader, which consists of its pod and a part unique to the process.
func (g *group) holder() string {
	g.Helper()
	var l coordinationv1.Lease
	g.must(g.Client.Get(g.ctx, client.ObjectKey{Namespace: namespace, Name: lease}, &l))
	return ptr.Deref(l.Spec.HolderIdentity, "")
}

// leader returns the leading orchestrator's pod.
func (g *group) leader() corev1.Pod {
	g.Helper()
	name, _, _ := strings.Cut(g.holder(), "_")
	var pod corev1.Pod
	g.must(g.Client.Get(g.ctx, client.ObjectKey{Namespace: namespace, Name: name}, &pod))
	return pod
}

func (g *group) managers() []corev1.Pod {
	g.Helper()
	var list corev1.PodList
	g.must(g.Client.List(g.ctx, &list, client.InNamespace(namespace), client.MatchingLabels{"app.kubernetes.io/component": "manager"}))
	if len(list.Items) != 2 {
		g.Fatalf("%d managers", len(list.Items))
	}
	return list.Items
}

// thaw continues a frozen orchestrator, if it still exists.
func (g *group) thaw(ctx context.Context, pod corev1.Pod) {
	_, err := g.SignalContainer(ctx, string(pod.UID), orchestrator, unix.SIGCONT)
	g.Logf("thawing %s: %v", pod.Name, err)
}

// awaitOrchestrator returns once the pod's orchestrator has exited and restarted.
func (g *group) awaitOrchestrator(was corev1.Pod) {
	g.Helper()
	before := restarts(was, orchestrator)
	g.must(framework.Until(g.ctx, "the old leader has ended and started again", func(ctx context.Context) error {
		var is corev1.Pod
		err := g.Client.Get(ctx, client.ObjectKeyFromObject(&was), &is)
		if err == nil && restarts(is, orchestrator) <= before {
			err = fmt.Errorf("it has not restarted")
		}
		return err
	}))
}

// restarts returns the restart count of a container, or -1 while it is not ready.
func restarts(pod corev1.Pod, container string) int32 {
	for _, status := range pod.Status.ContainerStatuses {
		if status.Name == container && status.Ready {
			return status.RestartCount
		}
	}
	return -1
}
