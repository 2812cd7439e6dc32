package main

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sys/unix"
	"k8s.io/utils/ptr"

	"github.com/holdfast-project/holdfast/e2e/lab"
	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
)

const namespace = "bench"

// system is one way to answer a failure.
type system struct {
	name    string
	example string
	change  func(*v1alpha2.JobSet)
}

var systems = []system{
	{name: "recreate", example: "recreate.yaml"},
	{name: "in place, CRI driver", example: "in-place-restart.yaml"},
	{name: "in place, CRI driver, records kept", example: "in-place-restart.yaml", change: keepRecords},
}

func keepRecords(js *v1alpha2.JobSet) {
	agent := &js.Spec.ReplicatedJobs[0].Template.Spec.Template.Spec.InitContainers[0]
	agent.Args = append(agent.Args, "--remove-stopped-containers=false")
}

// measure kills one worker of a fresh group, then another one after the pause.
func measure(ctx context.Context, l *lab.Lab, s system, workers int, pause time.Duration) (run, error) {
	r := run{System: s.name, Workers: workers}
	if err := l.Namespace(ctx, namespace); err != nil {
		return r, err
	}
	js, err := l.Load(namespace, l.File("examples", s.example))
	if err != nil {
		return r, err
	}
	spec := &js.Spec.ReplicatedJobs[0].Template.Spec
	spec.Parallelism, spec.Completions = ptr.To(int32(workers)), ptr.To(int32(workers))
	if s.change != nil {
		s.change(js)
	}
	if err := l.Client.Create(ctx, js); err != nil {
		return r, fmt.Errorf("creating the JobSet: %w", err)
	}
	defer l.Remove(context.WithoutCancel(ctx), namespace, js.Name)
	if _, err := l.AwaitWorkers(ctx, namespace, js.Name, workers); err != nil {
		return r, err
	}
	time.Sleep(2 * time.Second) // let the node come to rest
	if r.First, err = kill(ctx, l, js, workers, 1); err != nil {
		return r, err
	}
	time.Sleep(pause)
	r.Second, err = kill(ctx, l, js, workers, 2)
	return r, err
}

// kill returns the seconds until every worker runs in another container than before.
func kill(ctx context.Context, l *lab.Lab, js *v1alpha2.JobSet, workers, victim int) (float64, error) {
	before, err := l.AwaitWorkers(ctx, namespace, js.Name, workers)
	if err != nil {
		return 0, err
	}
	at, err := l.Signal(ctx, before[lab.IDs(before)[victim]], unix.SIGKILL)
	if err != nil {
		return 0, err
	}
	var after map[string]lab.Worker
	err = lab.Until(ctx, "all workers run again", func(ctx context.Context) error {
		if after, err = l.Workers(ctx, namespace, js.Name); err != nil {
			return err
		}
		for id, was := range before {
			if is := after[id]; !is.Ready || is.ContainerID == was.ContainerID {
				return fmt.Errorf("worker %s does not", id)
			}
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	last, err := l.LastStart(ctx, after)
	return last.Sub(at).Seconds(), err
}
