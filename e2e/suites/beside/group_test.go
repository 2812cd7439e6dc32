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
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"golang.org/x/sys/unix"

	"github.com/holdfast-project/holdfast/e2e/framework"
	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
)

const size = 8

// group is a JobSet of the published controller with eight workers.
type group struct {
	*testing.T
	*framework.Environment
	ctx  context.Context
	name string
}

// start creates the example with one annotation, and returns its workers once they are in sync.
func start(t *testing.T, change func(*v1alpha2.JobSet)) (*group, map[string]framework.Worker) {
	t.Helper()
	g := &group{T: t, Environment: shared, ctx: t.Context(), name: strings.ToLower(t.Name())[:min(len(t.Name()), 40)]}
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
	g.awaitSync("InSync")
	workers, err := g.AwaitWorkers(g.ctx, jobs, g.name, size)
	g.must(err)
	for _, w := range workers {
		g.must(framework.Until(g.ctx, "the program of "+w.ID+" has begun", func(ctx context.Context) error { return g.HasBegun(ctx, w) }))
	}
	return g, workers
}

func (g *group) must(err error) {
	g.Helper()
	if err != nil {
		g.Fatal(err)
	}
}

func (g *group) cleanUp() {
	ctx := context.Background()
	if out, err := g.Plugin(ctx, jobs, "timeline", g.name); err == nil {
		g.Log(out)
	}
	g.explain()
	if err := g.Remove(ctx, jobs, g.name); err != nil {
		g.Error(err)
	}
}

// explain logs the state of a failed test.
func (g *group) explain() {
	if !g.Failed() {
		return
	}
	for _, args := range [][]string{
		{"-n", jobs, "get", "jobset,job,pod", "-o", "wide"}, {"-n", jobs, "get", "jobset,job", "-o", "yaml"}, {"-n", jobs, "get", "events"},
		{"-n", namespace, "logs", "deployment/holdfast-inplace", "--tail=60"},
	} {
		out, _ := exec.Command("kubectl", append([]string{"--kubeconfig", g.Cluster.KubeconfigPath()}, args...)...).CombinedOutput()
		g.Logf("kubectl %s\n%s", strings.Join(args, " "), out)
	}
}

// until waits until check of the JobSet succeeds.
func (g *group) until(what string, check func(*v1alpha2.JobSet) error) {
	g.Helper()
	g.must(framework.Until(g.ctx, what, func(ctx context.Context) error {
		js, err := g.JobSet(ctx, jobs, g.name)
		if err != nil {
			return err
		}
		return check(js)
	}))
}

func (g *group) awaitSync(reason string) {
	g.Helper()
	g.until("the group is "+reason, func(js *v1alpha2.JobSet) error {
		c := meta.FindStatusCondition(js.Status.Conditions, "InPlaceInSync")
		if c == nil || c.Reason != reason {
			return fmt.Errorf("it is %+v", c)
		}
		return nil
	})
}

func (g *group) awaitCharged(n int) {
	g.Helper()
	g.until(fmt.Sprintf("%d restarts are charged", n), func(js *v1alpha2.JobSet) error {
		if got := js.Annotations[v1alpha2.InPlaceRestartsKey]; got != fmt.Sprint(n) {
			return fmt.Errorf("%q are", got)
		}
		return nil
	})
}

// kill kills a worker's program, waits until all workers have started again, and logs how long that took.
func (g *group) kill(w framework.Worker) {
	g.Helper()
	at, err := g.Signal(g.ctx, w, unix.SIGKILL)
	g.must(err)
	g.started("a killed process", size, at)
}

func (g *group) started(what string, n int, at time.Time) {
	g.Helper()
	last, err := g.StartsAfter(g.ctx, jobs, g.name, n, at)
	g.must(err)
	g.Logf("MEASURED beside the published controller, %d workers, %s: all run again after %.2f s", size, what, last.Sub(at).Seconds())
}

// samePods fails the test unless all workers, except those in but, are in the same pods and containers as before.
func (g *group) samePods(before map[string]framework.Worker, but ...string) {
	g.Helper()
	after, err := g.AwaitWorkers(g.ctx, jobs, g.name, size)
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

// orchestrator returns the orchestrator's pod that is not being deleted.
func (g *group) orchestrator() *corev1.Pod {
	g.Helper()
	var pods corev1.PodList
	g.must(g.Client.List(g.ctx, &pods, client.InNamespace(namespace), client.MatchingLabels{"app.kubernetes.io/component": "manager"}))
	for i := range pods.Items {
		if pods.Items[i].DeletionTimestamp.IsZero() {
			return &pods.Items[i]
		}
	}
	g.Fatal("there is no orchestrator")
	return nil
}
