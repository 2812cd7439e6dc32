//go:build e2e

package beside

import (
	"context"
	"fmt"
	"testing"

	"golang.org/x/sys/unix"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
)

// startPods creates a StatefulSet, whose pods declare a group, and returns the group once its workers are in sync.
func startPods(t *testing.T, name string, annotations map[string]string) *group {
	t.Helper()
	g := newGroup(t, pod, name+"-0", replicaSize)
	g.shown = "statefulset,pod"
	js, err := g.Load(jobs, g.File("examples", "one-annotation.yaml"))
	g.must(err)
	spec := js.Spec.ReplicatedJobs[0].Template.Spec.Template.Spec
	spec.TerminationGracePeriodSeconds = ptr.To[int64](1)
	app := map[string]string{"app": name}
	template := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{
		Labels:      map[string]string{"app": name, v1alpha2.PodGroupKey: g.name},
		Annotations: map[string]string{v1alpha2.PodGroupSizeKey: fmt.Sprint(replicaSize)},
	}, Spec: spec}
	for key, value := range annotations {
		template.Annotations[key] = value
	}
	set := &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: jobs, Name: name},
		Spec: appsv1.StatefulSetSpec{
			Replicas: ptr.To[int32](replicaSize), Selector: &metav1.LabelSelector{MatchLabels: app}, PodManagementPolicy: appsv1.ParallelPodManagement, Template: template,
		},
	}
	g.awaitWebhook()
	g.must(g.Client.Create(g.ctx, set))
	t.Cleanup(func() {
		g.tell()
		if err := g.Client.Delete(context.Background(), set, client.PropagationPolicy(metav1.DeletePropagationForeground)); err != nil {
			t.Error(err)
		}
		g.untilGone(set)
	})
	g.running()
	return g
}

// Pods of any owner restart in place after a process is killed, even without an orchestrator, and after a pod is deleted.
// When the budget is used up, the owner recreates all pods, and the group starts again.
func TestPodsOfAnyOwner(t *testing.T) {
	g := startPods(t, "any", asking("3"))
	workers := g.running()
	g.kill(first(workers))
	g.awaitCharged(1)
	g.replaceOrchestrator(first(workers))
	g.awaitCharged(2)
	g.awaitSync("InSync")
	g.samePods(workers)
	lost := workers[g.slot(2)]
	g.lose(lost)
	g.awaitCharged(3)
	g.samePods(workers, lost.ID)
	g.untilEvent("InPlaceRestart")
	g.timeline("restart in place", "1 of 3", "2 of 3", "3 of 3")
	workers = g.running()
	at, err := g.Signal(g.ctx, first(workers), unix.SIGKILL)
	g.must(err)
	g.recreated("a spent budget, after which the owner recreates the pods", workers, at)
	g.awaitCharged(0)
}

// A pod that cannot be scheduled keeps its group from restarting in time, so the owner recreates all pods.
func TestPodsOfAnyOwnerTimeout(t *testing.T) {
	g := startPods(t, "any-timeout", map[string]string{v1alpha2.InPlaceTimeoutKey: "6s"})
	g.timeOut()
}

// When the pod with index 0 is deleted, the group ends, and its owner recreates all pods.
func TestPodsOfAnyOwnerFirstPod(t *testing.T) {
	g := startPods(t, "any-first", asking("20"))
	workers := g.running()
	at, err := g.DeletePod(g.ctx, workers[g.slot(0)])
	g.must(err)
	g.recreated("a deleted pod with index 0", workers, at)
	g.awaitCharged(0)
}
