package main

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"github.com/holdfast-project/holdfast/e2e/lab"
)

// recreatePods answers the same failure by the JobSet controller's recreation and returns the time until the last
// worker's program ran again, measured as for the restart in place.
func recreatePods(ctx context.Context, l *lab.Lab) (time.Duration, error) {
	if err := l.Remove(ctx, namespace, inPlace); err != nil {
		return 0, err
	}
	fmt.Println()
	say("the same failure without in-place restarts: examples/recreate.yaml")
	if err := l.Apply(ctx, namespace, l.File("examples", "recreate.yaml")); err != nil {
		return 0, err
	}
	before, err := l.AwaitWorkers(ctx, namespace, recreate, workers)
	if err != nil {
		return 0, err
	}
	dead := before[lab.IDs(before)[victim]]
	say("kill -9 of worker %s", dead.ID)
	killed, err := l.Signal(ctx, dead, unix.SIGKILL)
	if err != nil {
		return 0, err
	}
	after, err := awaitNewPods(ctx, l, before)
	if err != nil {
		return 0, err
	}
	started, err := l.LastStart(ctx, after)
	if err != nil {
		return 0, err
	}
	return started.Sub(killed), l.Remove(ctx, namespace, recreate)
}

func awaitNewPods(ctx context.Context, l *lab.Lab, before map[string]lab.Worker) (map[string]lab.Worker, error) {
	var after map[string]lab.Worker
	err := lab.Until(ctx, "all pods are new and ready", func(ctx context.Context) error {
		var err error
		if after, err = l.Workers(ctx, namespace, recreate); err != nil {
			return err
		}
		ready := 0
		for id, w := range after {
			if w.Ready && w.PodUID != before[id].PodUID {
				ready++
			}
		}
		if ready < workers {
			return fmt.Errorf("%d of %d are", ready, workers)
		}
		return nil
	})
	return after, err
}
