package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"github.com/holdfast-project/holdfast/e2e/lab"
	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/shared/coordination"
)

// restartInPlace kills one worker and returns the time until the last worker's program ran again.
func restartInPlace(ctx context.Context, l *lab.Lab) (time.Duration, error) {
	say("applying examples/in-place-restart.yaml: one Job of %d workers", workers)
	applied := time.Now()
	if err := l.Apply(ctx, namespace, l.File("examples", "in-place-restart.yaml")); err != nil {
		return 0, err
	}
	before, err := l.AwaitWorkers(ctx, namespace, inPlace, workers)
	if err != nil {
		return 0, err
	}
	js, err := l.JobSet(ctx, namespace, inPlace)
	if err != nil {
		return 0, err
	}
	if _, err := l.AwaitPhase(ctx, js, coordination.Running, 1, 0); err != nil {
		return 0, err
	}
	say("all %d workers are in sync after %.1f s", workers, time.Since(applied).Seconds())
	return killAndWatch(ctx, l, js, before)
}

func killAndWatch(ctx context.Context, l *lab.Lab, js *v1alpha2.JobSet, before map[string]lab.Worker) (time.Duration, error) {
	dead := before[lab.IDs(before)[victim]]
	say("kill -9 of worker %s", dead.ID)
	killed, err := l.Signal(ctx, dead, unix.SIGKILL)
	if err != nil {
		return 0, err
	}
	if _, err := l.AwaitPhase(ctx, js, coordination.Running, 1, 1); err != nil {
		return 0, err
	}
	after, err := awaitRestarts(ctx, l, before)
	if err != nil {
		return 0, err
	}
	started, err := l.LastStart(ctx, after)
	if err != nil {
		return 0, err
	}
	if err := printTimeline(ctx, l, js, killed, started); err != nil {
		return 0, err
	}
	return started.Sub(killed), check(ctx, l, js, before, after)
}

// awaitRestarts waits until the API server, too, has seen every worker come back.
func awaitRestarts(ctx context.Context, l *lab.Lab, before map[string]lab.Worker) (map[string]lab.Worker, error) {
	var after map[string]lab.Worker
	err := lab.Until(ctx, "the kubelet has reported every restart", func(ctx context.Context) error {
		var err error
		if after, err = l.AwaitWorkers(ctx, namespace, inPlace, workers); err != nil {
			return err
		}
		for id, w := range after {
			if w.ContainerID == before[id].ContainerID {
				return fmt.Errorf("worker %s runs in its old container", id)
			}
		}
		return nil
	})
	return after, err
}

// check is what makes this a restart in place.
func check(ctx context.Context, l *lab.Lab, js *v1alpha2.JobSet, before, after map[string]lab.Worker) error {
	var errs []error
	for _, id := range lab.IDs(before) {
		was, is := before[id], after[id]
		if is.PodUID != was.PodUID {
			errs = append(errs, fmt.Errorf("worker %s is in another pod", id))
		}
		if is.Restarts != was.Restarts+1 {
			errs = append(errs, fmt.Errorf("worker %s has restart count %d, not %d", id, is.Restarts, was.Restarts+1))
		}
	}
	if err := l.AwaitAnnotation(ctx, js, v1alpha2.InPlaceRestartsKey, "1"); err != nil {
		errs = append(errs, err)
	}
	if len(errs) == 0 {
		fmt.Printf("\n  checked: the same %d pod UIDs, every worker's restart count up by one, %s: \"1\"\n",
			workers, v1alpha2.InPlaceRestartsKey)
	}
	return errors.Join(errs...)
}
