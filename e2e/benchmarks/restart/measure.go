package main

import (
	"context"
	"errors"
	"fmt"
	"os"
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

var answers = []recovery.Mode{recovery.Recreate, withoutDelay(recovery.CRI), withoutDelay(recovery.Exec), withoutDelay(recovery.ExecSpare), recovery.Upstream}

// withoutDelay returns a mode whose workers start at once, although the third failure of a group comes within a minute of the first.
func withoutDelay(m recovery.Mode) recovery.Mode {
	m.Change = func(js *v1alpha2.JobSet) {
		js.Annotations[v1alpha2.MaxRestartDelayKey] = "0s"
	}
	return m
}

func measureAll(ctx context.Context, env *framework.Environment, o options) ([]row, error) {
	if err := env.Namespace(ctx, namespace); err != nil {
		return nil, err
	}
	var rows []row
	for _, workers := range o.sizes {
		for _, a := range answers {
			if !strings.Contains(a.Name, o.only) {
				continue
			}
			r, err := measureWith(ctx, env, a, workers, o)
			if err != nil {
				return nil, fmt.Errorf("%s with %d workers: %w", a.Name, workers, err)
			}
			rows = append(rows, r)
		}
	}
	return rows, nil
}

// measureWith measures a mode with the controller that implements it.
func measureWith(ctx context.Context, env *framework.Environment, a recovery.Mode, workers int, o options) (row, error) {
	if !a.Upstream {
		return measure(ctx, env, a, workers, o)
	}
	restore, err := env.InstallPublished(ctx, namespace)
	if err != nil {
		return row{}, err
	}
	r, err := measure(ctx, env, a, workers, o)
	return r, errors.Join(err, restore(context.WithoutCancel(ctx)))
}

func measure(ctx context.Context, env *framework.Environment, a recovery.Mode, workers int, o options) (row, error) {
	r := row{Answer: a.Name, Workers: workers}
	for range o.groups {
		first, second, lost, err := failThrice(ctx, env, a, workers, o.pause)
		if err != nil {
			return r, err
		}
		fmt.Fprintf(os.Stderr, "%-40s %3d workers: %.2f s, then %.2f s, a pod deleted %.2f s, of which %.2f s after it had ended\n", a.Name, workers,
			first.Again.Seconds(), second.Again.Seconds(), lost.Again.Seconds(), (lost.Again - lost.Ended).Seconds())
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
