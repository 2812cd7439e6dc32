package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-project/holdfast/e2e/crew"
	"github.com/holdfast-project/holdfast/e2e/scale"
	"github.com/holdfast-project/holdfast/shared/coordination"
)

// slot of worker i, dealt out over the Jobs.
func (g *group) slot(i int) string {
	jobs := int(g.js.Spec.ReplicatedJobs[0].Replicas)
	return fmt.Sprintf("%s-%s-%d-%d", g.js.Name, entry, i%jobs, i/jobs)
}

// victim of failure i is another one each time.
func (g *group) victim(i int) string { return g.slot((i*7 + 3) % g.size) }

// fail kills one worker's process after the other, each as if nothing had failed for ten minutes.
func (b *benchmark) fail(ctx context.Context, g *group) error {
	return b.strikes(ctx, g, scale.Failure, b.runs, func(_ context.Context, i int) (time.Time, error) {
		b.fleet.Forgive()
		return b.crew.Fail(g.js.Name, g.victim(i))
	})
}

// losePods deletes one pod after the other.
func (b *benchmark) losePods(ctx context.Context, g *group) error {
	return b.strikes(ctx, g, scale.Pod, b.runs, func(ctx context.Context, i int) (time.Time, error) {
		b.fleet.Forgive()
		name, err := b.crew.Pod(g.js.Name, g.victim(i))
		if err != nil {
			return time.Time{}, err
		}
		at := time.Now()
		return at, b.lab.Client.Delete(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: name.Namespace, Name: name.Name}})
	})
}

func (b *benchmark) strikes(ctx context.Context, g *group, name string, n int, strike func(context.Context, int) (time.Time, error)) error {
	var runs []scale.Run
	for i := range n {
		run, err := b.strike(ctx, g, name, i, strike)
		if err != nil {
			return errors.Join(fmt.Errorf("failure %d: %w", i+1, err), b.keepStrikes(g, name, runs))
		}
		runs = append(runs, run)
	}
	return b.keepStrikes(g, name, runs)
}

func (b *benchmark) keepStrikes(g *group, name string, runs []scale.Run) error {
	if len(runs) == 0 {
		return nil
	}
	return b.keep(scale.Key{Scenario: name, Way: g.way, Workers: g.size, JobSets: 1}, runs, 0)
}

// strike measures one failure and its answer.
func (b *benchmark) strike(ctx context.Context, g *group, name string, i int, strike func(context.Context, int) (time.Time, error)) (scale.Run, error) {
	before, err := b.count(ctx, true)
	if err != nil {
		return scale.Run{}, err
	}
	profiled := b.profile(fmt.Sprintf("%s-%s-%d-%d", name, wordOf(g.way), g.size, i))
	watch := b.crew.Watch(g.js.Name)
	round := g.round
	decided := g.watchDecision(ctx)
	at, err := strike(ctx, i)
	if err != nil {
		return scale.Run{}, err
	}
	last, err := g.awaitAnswer(ctx, watch, round)
	if err != nil {
		return scale.Run{}, err
	}
	run := scale.Run{Seconds: last.Sub(at).Seconds()}
	profiled()
	if err := g.awaitQuiet(ctx); err != nil {
		return run, err
	}
	if run.Phases, err = g.phases(ctx, at, last, watch, decided); err != nil {
		return run, err
	}
	after, err := b.count(ctx, false)
	run.Usage = after.since(before)
	b.say(g, name, run)
	return run, err
}

// awaitAnswer is awaitUp in a later round than the one that failed.
func (g *group) awaitAnswer(ctx context.Context, watch *crew.Stopwatch, round int64) (last time.Time, err error) {
	for {
		if last, err = g.awaitUp(ctx, watch); err != nil || !inPlace(g.way) || g.round > round {
			return last, err
		}
		if err := pause(ctx, interval); err != nil {
			return last, err
		}
	}
}

// watchDecision looks for the moment in which the JobSet's restart is counted; the function returns it, zero if there is none.
func (g *group) watchDecision(ctx context.Context) func() time.Time {
	if inPlace(g.way) {
		return func() time.Time { return time.Time{} }
	}
	ctx, cancel := context.WithCancel(ctx)
	moment := make(chan time.Time, 1)
	go func() {
		defer close(moment)
		_ = until(ctx, "the restart is decided", interval, func(ctx context.Context) error {
			js, err := g.lab.JobSet(ctx, namespace, g.js.Name)
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

// phases of one answer, by the names that the page has.
func (g *group) phases(ctx context.Context, at, last time.Time, watch *crew.Stopwatch, decided func() time.Time) ([]scale.Phase, error) {
	var phases []scale.Phase
	add := func(name string, moment time.Time) {
		if !moment.IsZero() && moment.UnixMilli() != 0 {
			phases = append(phases, scale.Phase{Name: name, At: max(0, moment.Sub(at).Seconds())})
		}
	}
	if !inPlace(g.way) {
		_, ended := watch.Ended()
		add(scale.Decided, decided())
		add(scale.FirstUp, watch.FirstStart())
		add(scale.OldGone, ended)
		add(scale.AllUp, last)
		return phases, nil
	}
	record, err := g.account(ctx)
	if err != nil {
		return nil, err
	}
	add(scale.Detected, time.UnixMilli(record.DetectedAt))
	add(scale.Ordered, time.UnixMilli(record.ReportedAt))
	add(scale.OrderP50, watch.Order(0.5))
	add(scale.OrderP99, watch.Order(0.99))
	add(scale.OrderLast, watch.Order(1))
	add(scale.AllDown, watch.Down())
	add(scale.InSync, time.UnixMilli(record.InSyncAt))
	add(scale.AllUp, last)
	return phases, nil
}

func (g *group) account(ctx context.Context) (coordination.Record, error) {
	history, err := g.lab.Records(ctx, string(g.js.UID))
	if err != nil || len(history) == 0 {
		return coordination.Record{}, fmt.Errorf("the store has no account of the restart: %w", err)
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
