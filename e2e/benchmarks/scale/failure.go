package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/holdfast-project/holdfast/e2e/benchmarks/scale/results"
	"github.com/holdfast-project/holdfast/e2e/fakes/agent"
	"github.com/holdfast-project/holdfast/e2e/framework"
	"github.com/holdfast-project/holdfast/shared/coordination"
)

// slot returns the slot of worker i. Workers are distributed over the Jobs.
func (g *group) slot(i int) string {
	jobs := int(g.js.Spec.ReplicatedJobs[0].Replicas)
	return fmt.Sprintf("%s-%s-%d-%d", g.js.Name, entry, i%jobs, i/jobs)
}

// victim returns the worker that fails in failure i, a different one each time.
func (g *group) victim(i int) string { return g.slot((i*7 + 3) % g.size) }

// fail kills one worker's process after another. The kubelets' back-off is reset before each kill.
func (b *benchmark) fail(ctx context.Context, g *group) error {
	return b.strikes(ctx, g, results.Failure, b.runs, func(_ context.Context, i int) (time.Time, error) {
		b.simulation.Forgive()
		return b.agents.Fail(g.js.Name, g.victim(i))
	})
}

// failTen repeatedly kills the processes of ten workers at once.
func (b *benchmark) failTen(ctx context.Context, g *group) error {
	return b.strikes(ctx, g, results.Ten, b.runs, func(_ context.Context, i int) (time.Time, error) {
		b.simulation.Forgive()
		at := time.Now()
		return at, framework.Each(ten, func(n int) error {
			_, err := b.agents.Fail(g.js.Name, g.slot((i+n*(g.size/ten))%g.size))
			return err
		})
	})
}

const (
	// ten is the number of workers in the scenario of that name.
	ten = 10
	// rackPods is the number of pods in a rack.
	rackPods = 100
)

// loseRack repeatedly deletes many pods of one node pool at once, as if a rack had been lost.
func (b *benchmark) loseRack(scenario string) func(context.Context, *group) error {
	return func(ctx context.Context, g *group) error {
		return b.strikes(ctx, g, scenario, b.runs, func(ctx context.Context, i int) (time.Time, error) {
			b.simulation.Forgive()
			jobs := int(g.js.Spec.ReplicatedJobs[0].Replicas)
			pods := make([]types.NamespacedName, min(rackPods, g.size/jobs))
			for n := range pods {
				var err error
				if pods[n], err = b.agents.Pod(g.js.Name, g.slot((i*len(pods)+n)*jobs%g.size)); err != nil {
					return time.Time{}, err
				}
			}
			at := time.Now()
			return at, framework.Each(len(pods), func(n int) error { return b.deletePod(ctx, pods[n]) })
		})
	}
}

// losePods deletes one pod after the other.
func (b *benchmark) losePods(scenario string) func(context.Context, *group) error {
	return func(ctx context.Context, g *group) error {
		return b.strikes(ctx, g, scenario, b.runs, func(ctx context.Context, i int) (time.Time, error) {
			b.simulation.Forgive()
			name, err := b.agents.Pod(g.js.Name, g.victim(i))
			if err != nil {
				return time.Time{}, err
			}
			if g.ended, err = g.watchEnd(ctx, name); err != nil {
				return time.Time{}, err
			}
			at := time.Now()
			return at, b.deletePod(ctx, name)
		})
	}
}

func (b *benchmark) deletePod(ctx context.Context, name types.NamespacedName) error {
	return b.env.Client.Delete(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: name.Namespace, Name: name.Name}})
}

// alone plays a scenario while kube-controller-manager has the lowest priority, so that it takes little CPU time from the restart.
func (b *benchmark) alone(play func(context.Context, *group) error) func(context.Context, *group) error {
	return func(ctx context.Context, g *group) error {
		pid, err := b.pid("kube-controller-manager")
		if err != nil {
			return err
		}
		if err := setPriority(pid, 19); err != nil {
			return err
		}
		return errors.Join(play(ctx, g), setPriority(pid, 0))
	}
}

// setPriority sets the nice value of all threads of a process. Later threads inherit it.
func setPriority(pid, nice int) error {
	threads, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	for _, thread := range threads {
		id, failed := strconv.Atoi(thread.Name())
		if failed == nil {
			failed = unix.Setpriority(unix.PRIO_PROCESS, id, nice)
		}
		if !errors.Is(failed, unix.ESRCH) { // the thread has ended
			err = errors.Join(err, failed)
		}
	}
	return err
}

func (b *benchmark) strikes(ctx context.Context, g *group, name string, n int, strike func(context.Context, int) (time.Time, error)) error {
	var runs []results.Run
	for i := range n {
		run, err := b.strike(ctx, g, name, i, strike)
		if err != nil {
			return errors.Join(fmt.Errorf("failure %d: %w", i+1, err), b.keepStrikes(g, name, runs))
		}
		runs = append(runs, run)
	}
	return b.keepStrikes(g, name, runs)
}

func (b *benchmark) keepStrikes(g *group, name string, runs []results.Run) error {
	if len(runs) == 0 {
		return nil
	}
	return b.keep(results.Key{Scenario: name, Way: g.way, Workers: g.size, JobSets: 1}, runs, 0)
}

// strike measures one failure and the recovery from it.
func (b *benchmark) strike(ctx context.Context, g *group, name string, i int, strike func(context.Context, int) (time.Time, error)) (results.Run, error) {
	before, err := b.count(ctx, true)
	if err != nil {
		return results.Run{}, err
	}
	profiled := b.profile(fmt.Sprintf("%s-%s-%d-%d", name, wordOf(g.way), g.size, i))
	times := b.agents.Watch(g.js.Name)
	round := g.round
	g.ended = nil
	decided := g.watchDecision(ctx)
	at, err := strike(ctx, i)
	if err != nil {
		return results.Run{}, err
	}
	last, err := g.awaitAnswer(ctx, times, round)
	if err != nil {
		return results.Run{}, err
	}
	run := results.Run{Seconds: last.Sub(at).Seconds()}
	profiled()
	if err := g.awaitQuiet(ctx); err != nil {
		return run, err
	}
	if run.Phases, err = g.phases(ctx, at, last, times, decided); err != nil {
		return run, err
	}
	after, err := b.count(ctx, false)
	run.Usage = after.since(before)
	b.say(g, name, run)
	return run, err
}

// awaitAnswer is like awaitUp, but also waits until the group is in a later round than the one that failed.
func (g *group) awaitAnswer(ctx context.Context, watch *agent.Stopwatch, round int64) (last time.Time, err error) {
	for {
		if last, err = g.awaitUp(ctx, watch); err != nil || !inPlace(g.way) || g.round > round {
			return last, err
		}
		if err := framework.Pause(ctx, interval); err != nil {
			return last, err
		}
	}
}

// watchDecision watches the JobSet until it counts the restart. The returned function returns when that was observed, or the zero time if it
// was not.
func (g *group) watchDecision(ctx context.Context) func() time.Time {
	if inPlace(g.way) {
		return func() time.Time { return time.Time{} }
	}
	ctx, cancel := context.WithCancel(ctx)
	moment := make(chan time.Time, 1)
	go func() {
		defer close(moment)
		_ = until(ctx, "the restart is decided", interval, func(ctx context.Context) error {
			js, err := g.env.JobSet(ctx, namespace, g.js.Name)
			if err == nil && js.Status.Restarts <= g.restarts {
				err = fmt.Errorf("%d restarts", js.Status.Restarts)
			}
			if err == nil {
				moment <- time.Now()
			}
			return err
		})
	}()
	return func() time.Time { cancel(); return <-moment }
}

// watchEnd watches a pod until the API server shows that no part of it is running. The returned function returns when that was
// observed, or the zero time if it was not.
func (g *group) watchEnd(ctx context.Context, name types.NamespacedName) (func() time.Time, error) {
	ctx, cancel := context.WithCancel(ctx)
	w, err := g.env.Kube.CoreV1().Pods(name.Namespace).Watch(ctx, metav1.ListOptions{
		FieldSelector:   "metadata.name=" + name.Name,
		ResourceVersion: "0", // etcd 3.4 does not report the progress that the API server needs to start at the current version
	})
	if err != nil {
		cancel()
		return nil, err
	}
	moment := make(chan time.Time, 1)
	go func() {
		defer close(moment)
		defer w.Stop()
		for event := range w.ResultChan() {
			pod, ok := event.Object.(*corev1.Pod)
			if ok && (event.Type == watch.Deleted || pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded) {
				moment <- time.Now()
				return
			}
		}
	}()
	return func() time.Time { cancel(); return <-moment }, nil
}

// phases returns the phases of one recovery under the names on the page.
func (g *group) phases(ctx context.Context, at, last time.Time, watch *agent.Stopwatch, decided func() time.Time) ([]results.Phase, error) {
	var phases []results.Phase
	add := func(name string, moment time.Time) {
		if !moment.IsZero() && moment.UnixMilli() != 0 {
			phases = append(phases, results.Phase{Name: name, At: max(0, moment.Sub(at).Seconds())})
		}
	}
	orders := func() {
		add(results.OrderP50, watch.Order(0.5))
		add(results.OrderP99, watch.Order(0.99))
		add(results.OrderLast, watch.Order(1))
		add(results.AllDown, watch.Down())
	}
	if !inPlace(g.way) {
		_, ended := watch.Ended()
		add(results.Decided, decided())
		orders()
		add(results.FirstUp, watch.FirstStart())
		add(results.OldGone, ended)
		add(results.AllUp, last)
		return phases, nil
	}
	record, err := g.account(ctx)
	if err != nil {
		return nil, err
	}
	add(results.Detected, time.UnixMilli(record.DetectedAt))
	add(results.Ordered, time.UnixMilli(record.ReportedAt))
	orders()
	if g.ended != nil {
		add(results.Evidence, g.ended())
	}
	add(results.InSync, time.UnixMilli(record.InSyncAt))
	add(results.AllUp, last)
	return phases, nil
}

func (g *group) account(ctx context.Context) (coordination.Record, error) {
	history, err := g.env.Records(ctx, string(g.js.UID))
	if err != nil || len(history) == 0 {
		return coordination.Record{}, fmt.Errorf("the store has no record of the restart: %w", err)
	}
	return history[len(history)-1], nil
}

func wordOf(way string) string {
	for word, name := range waysByFlag {
		if name == way {
			return word
		}
	}
	return "unknown"
}
