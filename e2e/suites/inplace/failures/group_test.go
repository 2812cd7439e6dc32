//go:build e2e && e2e_all

package failures

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"k8s.io/utils/ptr"

	"github.com/holdfast-project/holdfast/e2e/framework"
	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/shared/coordination"
)

// quiet is how long a group that must not change is watched.
const quiet = 3 * time.Second

// group is one JobSet under test, and its state when it last was in sync.
type group struct {
	*testing.T
	*framework.Environment
	driver
	ctx     context.Context
	js      *v1alpha2.JobSet
	size    int
	before  map[string]instance
	epoch   int64
	round   int64 // in the current generation
	charged int64 // restarts, including those of earlier generations
}

// start creates the example's JobSet for a case in its own namespace, and returns once it is in sync.
func start(t *testing.T, d driver, w workload) *group {
	t.Helper()
	g := &group{T: t, Environment: shared, driver: d, ctx: t.Context()}
	t.Cleanup(g.cleanUp) // even if the group does not start, because its pods would get in the way of the next test's
	g.create(w)
	return g
}

func (g *group) create(w workload) {
	g.Helper()
	g.js = g.manifest(w)
	g.size = int(*g.js.Spec.ReplicatedJobs[0].Template.Spec.Parallelism)
	g.must(g.Namespace(g.ctx, g.js.Namespace))
	g.must(g.Remove(g.ctx, g.js.Namespace, g.js.Name))
	g.must(g.Client.Create(g.ctx, g.js))
	g.epoch, g.round, g.charged = 1, 0, 0
	g.awaitSync(1, 0)
	g.before = g.awaitReady()
	g.awaitCharged(0)
}

// breakOff kills the first worker and returns the time of the kill while the restart is in progress.
func (g *group) breakOff() time.Time {
	g.Helper()
	at := g.kill(g.nth(0))
	g.awaitGroup("restarting", func(s framework.Summary) bool { return s.Round > g.round })
	return at
}

// restart makes the group restart once, so that there is a count that could be lost. It returns the time of the kill.
func (g *group) restart() time.Time {
	g.Helper()
	at := g.kill(g.nth(0))
	g.settle(once)
	return at
}

func (g *group) manifest(w workload) *v1alpha2.JobSet {
	g.Helper()
	name := strings.ToLower(strings.NewReplacer("/", "-", "_", "-", ",", "").Replace(g.Name()))
	js, err := g.Load("e2e-"+strings.TrimRight(name[:min(len(name), 58)], "-"), g.File("examples", "in-place-restart.yaml"))
	g.must(err)
	js.Name = cmp.Or(w.Name, "js")
	delete(js.Annotations, v1alpha2.ExclusiveKey)     // the groups of several cases share the node
	js.Annotations[v1alpha2.InPlaceTimeoutKey] = "2m" // for a busy machine
	js.Annotations[v1alpha2.MaxRestartDelayKey] = "0s"
	js.Spec.FailurePolicy.MaxRestarts = cmp.Or(w.MaxRestarts, js.Spec.FailurePolicy.MaxRestarts)
	spec := &js.Spec.ReplicatedJobs[0].Template.Spec
	spec.Parallelism = ptr.To(cmp.Or(w.Size, 4))
	spec.Completions = spec.Parallelism
	g.configure(js, w)
	return js
}

func (g *group) cleanUp() {
	if g.js == nil {
		return
	}
	ctx := context.Background() // the test's context is done
	if g.Failed() {
		g.dump(ctx)
	}
	if err := g.Remove(ctx, g.js.Namespace, g.js.Name); err != nil {
		g.Error(err)
	}
}

func (g *group) must(err error) {
	g.Helper()
	if err != nil {
		g.Fatal(err)
	}
}

// nth returns the n-th worker as it was when the group was last in sync.
func (g *group) nth(n int) instance { return g.before[slices.Sorted(maps.Keys(g.before))[n]] }

// kill kills a worker with SIGKILL.
func (g *group) kill(i instance) time.Time {
	g.Helper()
	at, err := g.signal(g.ctx, g.Environment, i, unix.SIGKILL)
	g.must(err)
	return at
}

// now returns the current instances.
func (g *group) now() map[string]instance {
	g.Helper()
	instances, err := g.instances(g.ctx, g.Environment, g.js)
	g.must(err)
	return instances
}

// awaitReady returns the instances once all workers are ready.
func (g *group) awaitReady() map[string]instance {
	g.Helper()
	var is map[string]instance
	g.must(framework.Until(g.ctx, "all workers are ready", func(ctx context.Context) error {
		var err error
		if is, err = g.instances(ctx, g.Environment, g.js); err != nil {
			return err
		}
		for id, i := range is {
			if !i.Ready {
				return fmt.Errorf("worker %s is not ready", id)
			}
		}
		if len(is) != g.size {
			return fmt.Errorf("found %d of %d workers", len(is), g.size)
		}
		return nil
	}))
	return is
}

// awaitRestarted returns once every worker is ready and has started `times` times since `first`. A worker that is killed before it reports its
// start would not be counted.
func (g *group) awaitRestarted(first map[string]instance, times int) map[string]instance {
	g.Helper()
	var is map[string]instance
	g.must(framework.Until(g.ctx, "all workers have restarted", func(context.Context) error {
		is = g.awaitReady()
		for id, i := range is {
			if lives := i.Lives - first[id].Lives; lives < times {
				return fmt.Errorf("worker %s has restarted %d of %d times", id, lives, times)
			}
		}
		return nil
	}))
	return is
}

// awaitSync returns once the group is in sync in the given epoch and in the given round or a later one.
func (g *group) awaitSync(epoch, round int64) framework.Summary {
	g.Helper()
	return g.awaitGroup(fmt.Sprintf("in sync at %d or more of generation %d", round, epoch), func(s framework.Summary) bool {
		return s.Phase == coordination.Running && s.Generation == epoch && s.Round >= round && s.Joined == s.Size
	})
}

func (g *group) awaitPhase(phase coordination.Phase) framework.Summary {
	g.Helper()
	return g.awaitGroup(string(phase), func(s framework.Summary) bool { return s.Phase == phase })
}

func (g *group) awaitGroup(what string, is func(framework.Summary) bool) framework.Summary {
	g.Helper()
	var sum framework.Summary
	g.must(framework.Until(g.ctx, "the group of "+g.js.Name+" is "+what, func(ctx context.Context) error {
		var err error
		if sum, err = g.Summary(ctx, string(g.js.UID)); err == nil && !is(sum) {
			err = fmt.Errorf("it is %s at %d of generation %d, %d of %d joined", sum.Phase, sum.Round, sum.Generation, sum.Joined, sum.Size)
		}
		return err
	}))
	return sum
}

func (g *group) awaitCharged(n int64) {
	g.Helper()
	g.must(g.AwaitAnnotation(g.ctx, g.js, v1alpha2.InPlaceRestartsKey, fmt.Sprint(n)))
}
