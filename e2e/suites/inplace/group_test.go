//go:build e2e

package inplace

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/e2e/framework"
	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/shared/coordination"
)

const (
	size = 4
	// timeout is the time limit for in-place restarts in tests of other features. It is long, so that a slow or stalled
	// machine does not turn a restart into a recreation.
	timeout = "10m"
)

// group is one JobSet under test with four workers.
type group struct {
	*testing.T
	*framework.Environment
	ctx context.Context
	js  *v1alpha2.JobSet
}

// start creates a smaller version of the example's JobSet, modified by change, in its own namespace.
func start(t *testing.T, change func(*v1alpha2.JobSet)) *group {
	t.Helper()
	return startExample(t, "in-place-restart.yaml", change)
}

// startSupervised is like start, but with the exec driver, which the manager adds. It returns once the group is in sync.
func startSupervised(t *testing.T, change func(*v1alpha2.JobSet)) (*group, map[string]framework.Worker) {
	t.Helper()
	g := startExample(t, "one-annotation.yaml", change)
	return g, g.awaitInSync()
}

func startExample(t *testing.T, example string, change func(*v1alpha2.JobSet)) *group {
	t.Helper()
	g := &group{T: t, Environment: shared, ctx: t.Context()}
	namespace := "e2e-" + strings.ToLower(strings.NewReplacer("/", "-", "_", "-").Replace(t.Name()))
	namespace = strings.TrimRight(namespace[:min(len(namespace), 60)], "-")
	g.must(g.Namespace(g.ctx, namespace))
	js, err := g.Load(namespace, g.File("examples", example))
	g.must(err)
	js.Name = "js"
	js.Annotations[v1alpha2.InPlaceTimeoutKey] = timeout
	spec := &js.Spec.ReplicatedJobs[0].Template.Spec
	spec.Parallelism, spec.Completions = ptr.To[int32](size), ptr.To[int32](size)
	if change != nil {
		change(js)
	}
	g.must(g.Remove(g.ctx, namespace, js.Name))
	g.must(g.Client.Create(g.ctx, js))
	g.js = js
	t.Cleanup(g.cleanUp)
	return g
}

// startInSync starts a JobSet and returns it with its workers once they are in sync.
func startInSync(t *testing.T, change func(*v1alpha2.JobSet)) (*group, map[string]framework.Worker) {
	t.Helper()
	g := start(t, change)
	return g, g.awaitInSync()
}

// awaitInSync returns the workers of a new group once each of their programs has logged its start. Before that, a
// program does not handle signals as intended.
func (g *group) awaitInSync() map[string]framework.Worker {
	g.Helper()
	workers := g.awaitWorkers()
	g.awaitPhase(coordination.Running, 1, 0)
	for _, w := range workers {
		g.awaitBegun(w)
	}
	return workers
}

func (g *group) awaitBegun(w framework.Worker) {
	g.Helper()
	g.must(framework.Until(g.ctx, "the program of worker "+w.ID+" has begun", func(ctx context.Context) error { return g.HasBegun(ctx, w) }))
}

func (g *group) cleanUp() {
	ctx := context.Background() // the test's context is done
	if g.Failed() {
		g.dump(ctx)
	}
	if err := g.Remove(ctx, g.js.Namespace, g.js.Name); err != nil {
		g.Error(err)
	}
}

// dump logs the state of the group after a failure.
func (g *group) dump(ctx context.Context) {
	sum, err := g.Summary(ctx, string(g.js.UID))
	g.Logf("the group: %+v %v", sum, err)
	for _, args := range [][]string{
		{"get", "jobset,job,pod", "-o", "wide"}, {"get", "events"}, {"logs", "-l", "jobset.sigs.k8s.io/jobset-name=js", "-c", "agent", "--tail=30", "--prefix"},
	} {
		args = append([]string{"--kubeconfig", g.Cluster.KubeconfigPath(), "-n", g.js.Namespace}, args...)
		out, _ := exec.CommandContext(ctx, "kubectl", args...).CombinedOutput() // best effort: kubectl may be missing
		g.Logf("kubectl %s\n%s", strings.Join(args[4:], " "), out)
	}
	for _, program := range []string{framework.Manager, framework.Orchestrator} {
		out, _ := exec.CommandContext(ctx, "tail", "-n", "30", g.Cluster.ProgramLog(program)).CombinedOutput()
		g.Logf("%s\n%s", program, out)
	}
}

func (g *group) must(err error) {
	g.Helper()
	if err != nil {
		g.Fatal(err)
	}
}

func (g *group) awaitWorkers() map[string]framework.Worker {
	g.Helper()
	workers, err := g.AwaitWorkers(g.ctx, g.js.Namespace, g.js.Name, size)
	g.must(err)
	return workers
}

func (g *group) awaitPhase(p coordination.Phase, epoch, round int64) framework.Summary {
	g.Helper()
	sum, err := g.AwaitPhase(g.ctx, g.js, p, epoch, round)
	g.must(err)
	return sum
}

func (g *group) awaitCharged(n int) {
	g.Helper()
	g.must(g.AwaitAnnotation(g.ctx, g.js, v1alpha2.InPlaceRestartsKey, fmt.Sprint(n)))
}

// signal sends a signal to a worker. It first waits until the program in its container has logged its start.
func (g *group) signal(w framework.Worker, s unix.Signal) {
	g.Helper()
	g.awaitBegun(w)
	_, err := g.Signal(g.ctx, w, s)
	g.must(err)
}

// worker returns the n-th worker.
func worker(workers map[string]framework.Worker, n int) framework.Worker {
	return workers[framework.IDs(workers)[n]]
}

// awaitRestarted returns the workers once each runs in its old pod after the given number of further restarts.
func (g *group) awaitRestarted(before map[string]framework.Worker, more int32) map[string]framework.Worker {
	g.Helper()
	var after map[string]framework.Worker
	g.must(framework.Until(g.ctx, "every worker was restarted in its pod", func(ctx context.Context) error {
		var err error
		if after, err = g.Workers(ctx, g.js.Namespace, g.js.Name); err != nil {
			return err
		}
		for id, was := range before {
			switch is := after[id]; {
			case is.PodUID != was.PodUID:
				return fmt.Errorf("worker %s is in another pod", id)
			case is.Restarts != was.Restarts+more || !is.Ready:
				return fmt.Errorf("worker %s has restart count %d, ready %v", id, is.Restarts, is.Ready)
			}
		}
		return nil
	}))
	return after
}

// stay fails the test if a worker changes its container or restart count within the period.
func (g *group) stay(before map[string]framework.Worker, period time.Duration) {
	g.Helper()
	for end := time.Now().Add(period); time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
		var after map[string]framework.Worker
		g.must(framework.Until(g.ctx, "the workers are listed", func(ctx context.Context) (err error) {
			after, err = g.Workers(ctx, g.js.Namespace, g.js.Name)
			return err
		}))
		for id, was := range before {
			if is := after[id]; is.ContainerID != was.ContainerID || is.Restarts != was.Restarts {
				g.Fatalf("worker %s was restarted: %+v, before %+v", id, is, was)
			}
		}
	}
}

// events returns the events about the JobSet with the reason.
func (g *group) events(reason string) []eventsv1.Event {
	g.Helper()
	var list eventsv1.EventList
	g.must(framework.Until(g.ctx, "the events are listed", func(ctx context.Context) error {
		return g.Client.List(ctx, &list, client.InNamespace(g.js.Namespace))
	}))
	var found []eventsv1.Event
	for _, e := range list.Items {
		if e.Reason == reason && e.Regarding.UID == g.js.UID {
			found = append(found, e)
		}
	}
	return found
}

// awaitEvent waits for an event with the reason, and fails if there are several.
func (g *group) awaitEvent(reason string) eventsv1.Event {
	g.Helper()
	g.must(framework.Until(g.ctx, "there is an event "+reason, func(context.Context) error {
		if len(g.events(reason)) == 0 {
			return fmt.Errorf("none so far")
		}
		return nil
	}))
	found := g.events(reason)
	if len(found) != 1 || found[0].Series != nil {
		g.Fatalf("%d events %s, want 1: %+v", len(found), reason, found)
	}
	return found[0]
}
