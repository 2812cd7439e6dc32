//go:build e2e

package beside

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"golang.org/x/sys/unix"

	"github.com/holdfast-project/holdfast/e2e/framework"
	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
)

const size = 8

// group is a group of workers: those of a JobSet, unless its owner is of another kind.
type group struct {
	*testing.T
	*framework.Environment
	ctx   context.Context
	owner schema.GroupVersionKind // of the object that has the counts and conditions
	name  string                  // of that object
	size  int
	// system is the namespace of the release that leads the group.
	system string
	// shown lists the kinds that kubectl get prints after a failure.
	shown string
}

func newGroup(t *testing.T, owner schema.GroupVersionKind, name string, size int) *group {
	t.Helper()
	return &group{T: t, Environment: shared, ctx: t.Context(), owner: owner, name: name, size: size, system: namespace, shown: "jobset,job,pod"}
}

// leadsJobSets is the namespace of the release that leads JobSets.
var leadsJobSets = namespace

var jobSet = v1alpha2.GroupVersion.WithKind("JobSet")

// start creates the example with one annotation, and returns its workers once they are in sync.
func start(t *testing.T, change func(*v1alpha2.JobSet)) (*group, map[string]framework.Worker) {
	t.Helper()
	g := newGroup(t, jobSet, strings.ReplaceAll(strings.ToLower(t.Name()), "/", "-")[:min(len(t.Name()), 40)], size)
	g.system = leadsJobSets
	js, err := g.Load(jobs, g.File("examples", "one-annotation.yaml"))
	g.must(err)
	js.Name = g.name
	js.Annotations[v1alpha2.InPlaceTimeoutKey] = "10m"
	spec := &js.Spec.ReplicatedJobs[0].Template.Spec
	spec.Parallelism, spec.Completions = ptr.To[int32](size), ptr.To[int32](size)
	if change != nil {
		change(js)
	}
	g.must(g.Remove(g.ctx, jobs, g.name))
	g.awaitWebhook()
	g.must(framework.Until(g.ctx, "the JobSet is created", func(ctx context.Context) error {
		err := g.Client.Create(ctx, js)
		return client.IgnoreAlreadyExists(err)
	}))
	t.Cleanup(g.cleanUp)
	return g, g.running()
}

// running returns the workers of the group once they are in sync.
func (g *group) running() map[string]framework.Worker {
	g.Helper()
	g.awaitSync("InSync")
	workers, err := g.AwaitWorkers(g.ctx, jobs, g.name, g.size)
	g.must(err)
	for _, w := range workers {
		g.must(framework.Until(g.ctx, "the program of "+w.ID+" has begun", func(ctx context.Context) error { return g.HasBegun(ctx, w) }))
	}
	return workers
}

func (g *group) must(err error) {
	g.Helper()
	if err != nil {
		g.Fatal(err)
	}
}

func (g *group) cleanUp() {
	g.tell()
	if err := g.Remove(context.Background(), jobs, g.name); err != nil {
		g.Error(err)
	}
}

// tell logs the timeline and, after a failure, the state.
func (g *group) tell() {
	if out, err := g.Plugin(context.Background(), jobs, "timeline", g.owner.Kind+"/"+g.name); err == nil {
		g.Log(out)
	} else if !g.Failed() {
		g.Error(err)
	}
	g.explain()
}

// explain logs the state of a failed test.
func (g *group) explain() {
	if !g.Failed() {
		return
	}
	for _, args := range [][]string{
		{"-n", jobs, "get", g.shown, "-o", "wide"}, {"-n", jobs, "get", g.shown, "-o", "yaml"}, {"-n", jobs, "get", "events"},
		{"-n", g.system, "logs", "--selector", "app.kubernetes.io/component=manager", "--all-containers", "--prefix", "--tail=60"},
	} {
		out, _ := exec.Command("kubectl", append([]string{"--kubeconfig", g.Cluster.KubeconfigPath()}, args...)...).CombinedOutput()
		g.Logf("kubectl %s\n%s", strings.Join(args, " "), out)
	}
}

// inPlace is what the owner reports about its group.
type inPlace struct {
	uid             types.UID
	restarts        string
	reason, message string // of the condition
}

func (g *group) inPlace(ctx context.Context) (inPlace, error) {
	owner := &unstructured.Unstructured{}
	owner.SetGroupVersionKind(g.owner)
	if err := g.Client.Get(ctx, client.ObjectKey{Namespace: jobs, Name: g.name}, owner); err != nil {
		return inPlace{}, err
	}
	is := inPlace{uid: owner.GetUID(), restarts: owner.GetAnnotations()[v1alpha2.InPlaceRestartsKey]}
	conditions, _, _ := unstructured.NestedSlice(owner.Object, "status", "conditions")
	for _, one := range conditions {
		if c := one.(map[string]any); c["type"] == "InPlaceInSync" {
			is.reason, _ = c["reason"].(string)
			is.message, _ = c["message"].(string)
		}
	}
	return is, nil
}

// until waits until check accepts the owner's report, and returns the report.
func (g *group) until(what string, check func(inPlace) bool) (is inPlace) {
	g.Helper()
	g.must(framework.Until(g.ctx, what, func(ctx context.Context) error {
		var err error
		if is, err = g.inPlace(ctx); err == nil && !check(is) {
			err = fmt.Errorf("%s %s reports %+v", g.owner.Kind, g.name, is)
		}
		return err
	}))
	return is
}

func (g *group) awaitSync(reason string) inPlace {
	g.Helper()
	return g.until("the group is "+reason, func(is inPlace) bool { return is.reason == reason })
}

func (g *group) awaitCharged(n int) {
	g.Helper()
	g.until(fmt.Sprintf("%d restarts are charged", n), func(is inPlace) bool { return is.restarts == fmt.Sprint(n) })
}

// untilJobSet waits until check succeeds for the JobSet.
func (g *group) untilJobSet(what string, check func(*v1alpha2.JobSet) error) {
	g.Helper()
	g.must(framework.Until(g.ctx, what, func(ctx context.Context) error {
		js, err := g.JobSet(ctx, jobs, g.name)
		if err != nil {
			return err
		}
		return check(js)
	}))
}

// untilFailed waits until the JobSet has failed because its budget is spent.
func (g *group) untilFailed() {
	g.Helper()
	g.untilJobSet("the JobSet has failed", func(js *v1alpha2.JobSet) error {
		c := meta.FindStatusCondition(js.Status.Conditions, string(v1alpha2.JobSetFailed))
		if c == nil || c.Reason != v1alpha2.ReachedMaxRestartsReason || js.Status.TerminalState != string(v1alpha2.JobSetFailed) {
			return fmt.Errorf("condition %+v, terminal state %q", c, js.Status.TerminalState)
		}
		return nil
	})
}

// untilEvent waits for an event about the owner.
func (g *group) untilEvent(reason string) {
	g.Helper()
	g.must(framework.Until(g.ctx, "there is the event "+reason, func(ctx context.Context) error {
		var list eventsv1.EventList
		if err := g.Client.List(ctx, &list, client.InNamespace(jobs)); err != nil {
			return err
		}
		for _, e := range list.Items {
			if e.Reason == reason && e.Regarding.Kind == g.owner.Kind && e.Regarding.Name == g.name {
				return nil
			}
		}
		return fmt.Errorf("none of %d is about %s %s", len(list.Items), g.owner.Kind, g.name)
	}))
}

// timeline fails the test unless `kubectl holdfast` shows the text for the group.
func (g *group) timeline(want ...string) {
	g.Helper()
	g.must(framework.Until(g.ctx, "kubectl holdfast timeline shows the recovery", func(ctx context.Context) error {
		out, err := g.Plugin(ctx, jobs, "timeline", g.owner.Kind+"/"+g.name)
		for _, part := range want {
			if err == nil && !strings.Contains(out, part) {
				err = fmt.Errorf("it does not show %q:\n%s", part, out)
			}
		}
		return err
	}))
}

// kill kills a worker's program, waits until all workers have started again, and logs how long that took.
func (g *group) kill(w framework.Worker) {
	g.Helper()
	at, err := g.Signal(g.ctx, w, unix.SIGKILL)
	g.must(err)
	g.started("a killed process", at)
}

func (g *group) started(what string, at time.Time) {
	g.Helper()
	last, err := g.StartsAfter(g.ctx, jobs, g.name, g.size, at)
	g.must(err)
	g.Logf("MEASURED beside other controllers, %s, %d workers, %s: all run again after %.2f s", g.Name(), g.size, what, last.Sub(at).Seconds())
}

// lose deletes a worker's pod, and waits until all workers have started again.
func (g *group) lose(w framework.Worker) {
	g.Helper()
	at, err := g.DeletePod(g.ctx, w)
	g.must(err)
	g.started("a deleted pod", at)
}

// replaceOrchestrator kills the orchestrator and, while there is no leader, a worker's program.
func (g *group) replaceOrchestrator(w framework.Worker) {
	g.Helper()
	before := g.orchestrator()
	g.must(g.Client.Delete(g.ctx, before, client.GracePeriodSeconds(0)))
	g.kill(w)
	g.must(framework.Until(g.ctx, "another orchestrator leads", func(context.Context) error {
		if after := g.orchestrator(); after.UID == before.UID {
			return fmt.Errorf("the orchestrator was not replaced")
		}
		return nil
	}))
	g.awaitWebhook() // without it, the next pod would have no agent
}

// timeOut deletes a pod whose replacement cannot be scheduled. It waits until the restart has timed out, which deletes the pod with
// index 0, and then until the owner has recreated all pods.
func (g *group) timeOut() {
	g.Helper()
	workers := g.running()
	leader := g.awaitSync("InSync").uid
	g.cordon(true)
	g.Cleanup(g.uncordon)
	_, err := g.DeletePod(g.ctx, workers[g.slot(1)])
	g.must(err)
	g.must(framework.Until(g.ctx, "the pod with index 0 is deleted", func(ctx context.Context) error {
		is, err := g.inPlace(ctx)
		if err == nil && is.uid == leader {
			err = fmt.Errorf("it still exists: %+v", is)
		}
		return client.IgnoreNotFound(err)
	}))
	g.cordon(false)
	g.recreated(afterTimeout, workers, time.Now())
	g.awaitCharged(0)
}

// recreated waits until all workers are in new pods and in sync, and returns them. at is the time of the failure.
func (g *group) recreated(what string, before map[string]framework.Worker, at time.Time) map[string]framework.Worker {
	g.Helper()
	g.must(framework.Until(g.ctx, "all pods are new", func(ctx context.Context) error {
		now, err := g.Workers(ctx, jobs, g.name)
		if err == nil && len(now) != g.size {
			err = fmt.Errorf("found %d workers", len(now))
		}
		for id, was := range before {
			if err == nil && now[id].PodUID == was.PodUID {
				err = fmt.Errorf("%s is still in its old pod", id)
			}
		}
		return err
	}))
	g.started(what, at)
	return g.running()
}

// samePods fails the test unless all workers except for those in `but` are in the same pods and containers as before.
func (g *group) samePods(before map[string]framework.Worker, but ...string) {
	g.Helper()
	after, err := g.AwaitWorkers(g.ctx, jobs, g.name, g.size)
	g.must(err)
	for id, was := range before {
		now, replaced := after[id], false
		for _, other := range but {
			replaced = replaced || other == id
		}
		if replaced != (now.PodUID != was.PodUID) || (!replaced && now.Restarts != was.Restarts) {
			g.Errorf("%s was in pod %s with %d restarts, is in %s with %d", id, was.PodUID, was.Restarts, now.PodUID, now.Restarts)
		}
	}
}

func first(workers map[string]framework.Worker) framework.Worker {
	return workers[framework.IDs(workers)[0]]
}

// orchestrator returns the orchestrator's pod, ignoring pods that are being deleted.
func (g *group) orchestrator() *corev1.Pod {
	g.Helper()
	return g.component("manager")
}

// component returns the pod of one of the chart's components, ignoring pods that are being deleted.
func (g *group) component(name string) *corev1.Pod {
	g.Helper()
	var pods corev1.PodList
	g.must(g.Client.List(g.ctx, &pods, client.InNamespace(g.system), client.MatchingLabels{"app.kubernetes.io/component": name}))
	for i := range pods.Items {
		if pods.Items[i].DeletionTimestamp.IsZero() {
			return &pods.Items[i]
		}
	}
	g.Fatalf("there is no pod of the component %s", name)
	return nil
}
