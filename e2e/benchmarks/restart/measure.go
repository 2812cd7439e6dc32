package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-project/holdfast/e2e/framework"
	"github.com/holdfast-project/holdfast/e2e/framework/recovery"
	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
)

const (
	namespace = "bench"
	// rest gives the node time to settle before the first failure.
	rest = 2 * time.Second
)

// row is one recovery mode at one size.
type row struct {
	Answer  string            `json:"answer"`
	Workers int               `json:"workers"`
	First   []recovery.Phases `json:"firstNanoseconds"` // one for each group
	Second  []recovery.Phases `json:"secondNanoseconds"`
	Lost    []recovery.Phases `json:"podDeletedNanoseconds"`
}

var answers = []recovery.Mode{recovery.Recreate, recovery.CRI, recordsKept(), recovery.Exec}

func recordsKept() recovery.Mode {
	a := recovery.CRI
	a.Name += ", records kept"
	a.Change = func(js *v1alpha2.JobSet) {
		agent := &js.Spec.ReplicatedJobs[0].Template.Spec.Template.Spec.InitContainers[0]
		agent.Args = append(agent.Args, "--remove-stopped-containers=false")
	}
	return a
}

func measureAll(ctx context.Context, env *framework.Environment, o options) ([]row, error) {
	if err := env.Namespace(ctx, namespace); err != nil {
		return nil, err
	}
	var rows []row
	for _, workers := range o.sizes {
		for _, a := range answers {
			if a.Name != recovery.Recreate.Name && !o.wants(a.Name) {
				continue
			}
			r, err := measure(ctx, env, a, workers, o)
			if err != nil {
				return nil, fmt.Errorf("%s with %d workers: %w", a.Name, workers, err)
			}
			rows = append(rows, r)
		}
	}
	return rows, nil
}

// wants reports whether a mode was requested, by its whole name, or by a part of its name that is not another mode's
// whole name.
func (o options) wants(name string) bool {
	whole := slices.ContainsFunc(answers, func(a recovery.Mode) bool { return a.Name == o.only })
	return name == o.only || (!whole && strings.Contains(name, o.only))
}

func measure(ctx context.Context, env *framework.Environment, a recovery.Mode, workers int, o options) (row, error) {
	r := row{Answer: a.Name, Workers: workers}
	for range o.groups {
		first, second, lost, err := failThrice(ctx, env, a, workers, o.pause)
		if err != nil {
			return r, err
		}
		fmt.Fprintf(os.Stderr, "%-40s %3d workers: %.2f s, then %.2f s, a pod deleted %.2f s\n", a.Name, workers,
			first.Again.Seconds(), second.Again.Seconds(), lost.Again.Seconds())
		r.First, r.Second, r.Lost = append(r.First, first), append(r.Second, second), append(r.Lost, lost)
	}
	return r, nil
}

// failThrice kills one worker of a fresh group, another one after the pause, and then deletes the pod of a third.
func failThrice(ctx context.Context, env *framework.Environment, a recovery.Mode, workers int, pause time.Duration) (first, second, lost recovery.Phases, err error) {
	t, err := recovery.Start(ctx, env, namespace, a, workers)
	if err != nil {
		return first, second, lost, err
	}
	defer t.End(ctx) //nolint:errcheck // Start removes it first
	for _, failure := range []struct {
		name   string
		wait   time.Duration
		strike func(context.Context) (recovery.Failure, error)
		phases *recovery.Phases
	}{
		{"first failure", rest, t.Fail, &first},
		{"second failure", pause, t.Fail, &second},
		{"pod deleted", rest, t.LosePod, &lost},
	} {
		time.Sleep(failure.wait)
		f, err := failure.strike(ctx)
		if err != nil {
			return first, second, lost, fmt.Errorf("%s: %w", failure.name, err)
		}
		*failure.phases = f.Phases()
	}
	return first, second, lost, nil
}
