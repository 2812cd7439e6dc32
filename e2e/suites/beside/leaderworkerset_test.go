//go:build e2e

package beside

import (
	"context"
	"fmt"
	"testing"

	"golang.org/x/sys/unix"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/e2e/framework"
	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
)

// replicaSize is the number of pods of a replica, including its leader.
const replicaSize = 4

var pod = schema.GroupVersionKind{Version: "v1", Kind: "Pod"}

// startReplicas creates a LeaderWorkerSet with two replicas. It returns the group of each, named after its leader pod,
// once the workers are in sync.
func startReplicas(t *testing.T, name, restartPolicy string, annotations map[string]string) []*group {
	t.Helper()
	template, err := shared.Load(jobs, shared.File("examples", "one-annotation.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	worker := template.Spec.ReplicatedJobs[0].Template.Spec.Template.Spec.Containers[0]
	set := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"replicas": int64(2),
		"leaderWorkerTemplate": map[string]any{
			"size": int64(replicaSize), "restartPolicy": restartPolicy,
			"workerTemplate": map[string]any{"spec": map[string]any{
				"terminationGracePeriodSeconds": int64(1),
				"containers": []any{map[string]any{
					"name": worker.Name, "image": worker.Image, "imagePullPolicy": string(worker.ImagePullPolicy), "command": []any{worker.Command[0]},
				}},
			}},
		},
	}}}
	set.SetGroupVersionKind(framework.LeaderWorkerSet)
	set.SetNamespace(jobs)
	set.SetName(name)
	set.SetAnnotations(annotations)
	groups := make([]*group, 2)
	for i := range groups {
		groups[i] = newGroup(t, pod, fmt.Sprintf("%s-%d", name, i), replicaSize)
		groups[i].shown = "leaderworkerset,statefulset,pod"
	}
	g := groups[0]
	g.awaitWebhook()
	g.must(framework.Until(g.ctx, "the LeaderWorkerSet is created", func(ctx context.Context) error {
		return client.IgnoreAlreadyExists(g.Client.Create(ctx, set))
	}))
	t.Cleanup(func() {
		for _, g := range groups {
			g.tell()
		}
		ctx := context.Background()
		if err := g.Client.Delete(ctx, set, client.PropagationPolicy(metav1.DeletePropagationForeground)); err != nil {
			t.Error(err)
		}
		g.untilGone(set)
	})
	for _, g := range groups {
		g.running()
	}
	return groups
}

// untilGone waits until an owner that was deleted in the foreground at the end of a test is gone.
func (g *group) untilGone(owner client.Object) {
	err := framework.Until(context.Background(), owner.GetName()+" is gone", func(ctx context.Context) error {
		if err := g.Client.Get(ctx, client.ObjectKeyFromObject(owner), owner); err == nil || client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("it is not: %w", err)
		}
		return nil
	})
	if err != nil {
		g.Error(err)
	}
}

func asking(restarts string) map[string]string {
	return map[string]string{v1alpha2.InPlaceTimeoutKey: "10m", v1alpha2.MaxRestartsKey: restarts}
}

// Each replica restarts in place on its own. Its pods stay, so the LeaderWorkerSet controller does nothing.
func TestLeaderWorkerSetProcess(t *testing.T) {
	groups := startReplicas(t, "lws-process", "RecreateGroupOnPodRestart", asking("20"))
	g, other := groups[0], groups[1]
	workers, others := g.running(), other.running()
	g.kill(workers[g.slot(2)])
	g.awaitCharged(1)
	g.kill(workers[g.slot(0)]) // the leader
	g.awaitCharged(2)
	g.replaceOrchestrator(workers[g.slot(1)])
	g.awaitCharged(3)
	g.awaitSync("InSync")
	g.samePods(workers)
	g.untilEvent("InPlaceRestart")
	g.timeline("restart in place", "1 of 20", "2 of 20", "3 of 20")
	other.samePods(others)
	other.awaitCharged(0)
	for _, w := range others {
		if starts, err := g.Starts(g.ctx, w); err != nil || starts != 1 {
			t.Errorf("%s of the other replica has started %d times (%v)", w.ID, starts, err)
		}
	}
}

// slot returns the ID of a worker in a group that is declared by its pods.
func (g *group) slot(index int) string { return fmt.Sprintf("%s-workers-0-%d", g.name, index) }

// When a pod is deleted, the LeaderWorkerSet controller recreates its replica, even with in-place restarts.
func TestLeaderWorkerSetPod(t *testing.T) {
	groups := startReplicas(t, "lws-pod", "RecreateGroupOnPodRestart", asking("20"))
	g, other := groups[0], groups[1]
	workers, others := g.running(), other.running()
	at, err := g.DeletePod(g.ctx, workers[g.slot(1)])
	g.must(err)
	workers = g.recreated("a deleted pod, whose replica the LeaderWorkerSet controller recreates", workers, at)
	g.awaitCharged(0)
	g.kill(first(workers)) // the new replica restarts in place too
	g.awaitCharged(1)
	other.samePods(others)
}

// When the budget is used up, the LeaderWorkerSet controller recreates the replica, and the count starts from zero.
func TestLeaderWorkerSetBudget(t *testing.T) {
	g := startReplicas(t, "lws-budget", "RecreateGroupOnPodRestart", asking("1"))[0]
	workers := g.running()
	g.kill(first(workers))
	g.awaitCharged(1)
	at, err := g.Signal(g.ctx, first(workers), unix.SIGKILL)
	g.must(err)
	workers = g.recreated("a spent budget, after which the LeaderWorkerSet controller recreates the replica", workers, at)
	g.awaitCharged(0)
	g.kill(first(workers))
	g.awaitCharged(1)
}

// With the restart policy None, the replacement of a deleted worker joins the group. If it is not scheduled in time, all
// pods of the replica are recreated.
func TestLeaderWorkerSetTimeout(t *testing.T) {
	groups := startReplicas(t, "lws-timeout", "None", map[string]string{v1alpha2.InPlaceTimeoutKey: "15s", v1alpha2.MaxRestartsKey: "20"})
	g, other := groups[0], groups[1]
	workers, others := g.running(), other.running()
	lost := workers[g.slot(2)]
	g.lose(lost)
	g.awaitCharged(1)
	g.samePods(workers, lost.ID)
	g.awaitSync("InSync")
	g.timeOut()
	other.samePods(others)
}
