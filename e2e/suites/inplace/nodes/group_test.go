//go:build e2e && e2e_all

package nodes

import (
	"context"
	"fmt"
	"os/exec"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/e2e/framework"
	"github.com/holdfast-project/holdfast/e2e/testbed"
	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/shared/coordination"
)

const (
	size   = 4
	doomed = 2 // number of the node that is lost
	quiet  = 3 * time.Second
)

// group is one JobSet of four workers on two nodes.
type group struct {
	*testing.T
	*framework.Environment
	ctx    context.Context
	js     *v1alpha2.JobSet
	before map[string]place // at the start
}

// place is a worker and its node.
type place struct {
	framework.Worker
	Node string
}

// load returns a group and the JobSet that it will have, which is not created yet.
func load(t *testing.T, namespace string) (*group, *v1alpha2.JobSet) {
	t.Helper()
	g := &group{T: t, Environment: shared, ctx: t.Context()}
	g.must(g.Namespace(g.ctx, namespace))
	js, err := g.Load(namespace, g.File("examples", "one-annotation.yaml"))
	g.must(err)
	js.Name = "js"
	js.Annotations[v1alpha2.InPlaceTimeoutKey] = "5m"
	return g, js
}

// start returns a JobSet in sync with workers on both nodes.
func start(t *testing.T, change func(*v1alpha2.JobSet)) *group {
	t.Helper()
	const namespace = "e2e-nodes"
	g, js := load(t, namespace)
	spec := &js.Spec.ReplicatedJobs[0].Template.Spec
	spec.Parallelism, spec.Completions = ptr.To[int32](size), ptr.To[int32](size)
	pod := &spec.Template.Spec
	pod.TerminationGracePeriodSeconds = ptr.To[int64](1)
	pod.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
		MaxSkew: 1, TopologyKey: corev1.LabelHostname, WhenUnsatisfiable: corev1.ScheduleAnyway,
		LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{v1alpha2.JobSetNameKey: js.Name}},
	}}
	if change != nil {
		change(js)
	}
	g.must(g.Remove(g.ctx, namespace, js.Name))
	g.must(g.Client.Create(g.ctx, js))
	g.js = js
	t.Cleanup(g.cleanUp)
	g.awaitInSync(0)
	g.before = g.places()
	if n := len(g.lost()); n == 0 || n == size {
		t.Fatalf("%d of %d workers are on node-%d: %v", n, size, doomed, g.before)
	}
	return g
}

// cleanUp restores the node first. Without a kubelet, its pods would not terminate.
func (g *group) cleanUp() {
	ctx := context.Background() // the test's context is done
	if g.Failed() {
		g.dump(ctx)
	}
	g.restore(ctx)
	if err := g.Remove(ctx, g.js.Namespace, g.js.Name); err != nil {
		g.Error(err)
	}
}

// restore starts the node again and removes its taint.
func (g *group) restore(ctx context.Context) {
	g.Helper()
	g.taint(ctx, false)
	if _, err := testbed.Up(ctx, options, g.Output()); err != nil {
		g.Fatal(err)
	}
}

func (g *group) dump(ctx context.Context) {
	sum, err := g.Summary(ctx, string(g.js.UID))
	g.Logf("the group: %+v %v", sum, err)
	for _, args := range [][]string{{"get", "node,jobset,job,pod", "-o", "wide"}, {"get", "events"}} {
		args = append([]string{"--kubeconfig", g.Cluster.KubeconfigPath(), "-n", g.js.Namespace}, args...)
		out, _ := exec.CommandContext(ctx, "kubectl", args...).CombinedOutput() // best effort: kubectl may be missing
		g.Logf("kubectl %v\n%s", args[4:], out)
	}
	out, _ := exec.CommandContext(ctx, "tail", "-n", "40", g.Cluster.ProgramLog(framework.Orchestrator)).CombinedOutput()
	g.Logf("orchestrator\n%s", out)
}

func (g *group) must(err error) {
	g.Helper()
	if err != nil {
		g.Fatal(err)
	}
}

// awaitInSync returns once all workers run at the round.
func (g *group) awaitInSync(round int64) {
	g.Helper()
	_, err := g.AwaitPhase(g.ctx, g.js, coordination.Running, 1, round)
	g.must(err)
	_, err = g.AwaitWorkers(g.ctx, g.js.Namespace, g.js.Name, size)
	g.must(err)
}

// places returns the places of the workers whose pods are not being deleted.
func (g *group) places() map[string]place {
	g.Helper()
	workers, err := g.Workers(g.ctx, g.js.Namespace, g.js.Name)
	g.must(err)
	pods, err := g.Pods(g.ctx, g.js.Namespace, g.js.Name)
	g.must(err)
	nodes := map[string]string{}
	for _, pod := range pods {
		nodes[string(pod.UID)] = pod.Spec.NodeName
	}
	places := map[string]place{}
	for id, w := range workers {
		places[id] = place{w, nodes[w.PodUID]}
	}
	return places
}

func (g *group) doomedNode() string { return g.Cluster.NodeNames()[doomed-1] }

// lost returns the workers that started on the lost node.
func (g *group) lost() map[string]place {
	lost := map[string]place{}
	for id, w := range g.before {
		if w.Node == g.doomedNode() {
			lost[id] = w
		}
	}
	return lost
}

// awaitDeleted returns once Kubernetes has marked the pods of the lost node for deletion.
func (g *group) awaitDeleted() {
	g.Helper()
	g.must(framework.Until(g.ctx, "the pods on the lost node are being deleted", func(ctx context.Context) error {
		left := 0
		for id := range g.places() {
			if _, lost := g.lost()[id]; lost {
				left++
			}
		}
		if left > 0 {
			return fmt.Errorf("%d pods are not being deleted", left)
		}
		return nil
	}))
}

// expectMoved checks that the lost workers are in new pods on the other node, and all others in the same pods and
// containers.
func (g *group) expectMoved() {
	g.Helper()
	for id, is := range g.places() {
		was := g.before[id]
		_, lost := g.lost()[id]
		switch {
		case lost && (is.PodUID == was.PodUID || is.Node == g.doomedNode()):
			g.Errorf("worker %s is in pod %s on %s", id, is.PodUID, is.Node)
		case !lost && (is.PodUID != was.PodUID || is.ContainerID != was.ContainerID):
			g.Errorf("worker %s on %s: pod %s, container %s; before %s, %s", id, is.Node, is.PodUID, is.ContainerID, was.PodUID, was.ContainerID)
		}
	}
}

// stay fails the test if the group or a pod changes within a short time.
func (g *group) stay(round int64) {
	g.Helper()
	was := g.places()
	for end := time.Now().Add(quiet); time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
		sum, err := g.Summary(g.ctx, string(g.js.UID))
		g.must(err)
		if sum.Phase != coordination.Running || sum.Round != round {
			g.Fatalf("the group is %s at %d", sum.Phase, sum.Round)
		}
		for id, is := range g.places() {
			if is.PodUID != was[id].PodUID || is.ContainerID != was[id].ContainerID {
				g.Fatalf("worker %s is %+v, was %+v", id, is, was[id])
			}
		}
	}
}

// taint marks the lost node as out of service, or removes the mark.
func (g *group) taint(ctx context.Context, off bool) {
	g.Helper()
	node := &corev1.Node{}
	g.must(g.Client.Get(ctx, client.ObjectKey{Name: g.doomedNode()}, node))
	patch := client.MergeFrom(node.DeepCopy())
	node.Spec.Taints = slices.DeleteFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.Key == corev1.TaintNodeOutOfService })
	if off {
		node.Spec.Taints = append(node.Spec.Taints, corev1.Taint{Key: corev1.TaintNodeOutOfService, Value: "test", Effect: corev1.TaintEffectNoExecute})
	}
	g.must(g.Client.Patch(ctx, node, patch))
}

func (g *group) events(reason string) []eventsv1.Event {
	g.Helper()
	var list eventsv1.EventList
	g.must(g.Client.List(g.ctx, &list, client.InNamespace(g.js.Namespace)))
	var found []eventsv1.Event
	for _, e := range list.Items {
		if e.Reason == reason && e.Regarding.UID == g.js.UID {
			found = append(found, e)
		}
	}
	return found
}
