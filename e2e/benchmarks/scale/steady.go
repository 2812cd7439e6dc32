package main

import (
	"context"

	"github.com/holdfast-project/holdfast/e2e/benchmarks/scale/results"
	"github.com/holdfast-project/holdfast/e2e/framework"
)

// steadily measures a group without failures.
func (b *benchmark) steadily(ctx context.Context, g *group) error {
	if err := framework.Pause(ctx, 2*rest); err != nil {
		return err
	}
	run, err := b.window(ctx, func() error { return framework.Pause(ctx, b.steady) })
	if err != nil {
		return err
	}
	b.say(g, results.Steady, run)
	return b.keep(results.Key{Scenario: results.Steady, Way: g.way, Workers: g.size, JobSets: 1}, []results.Run{run}, 0)
}

// window measures the resources used while do runs.
func (b *benchmark) window(ctx context.Context, do func() error) (results.Run, error) {
	before, err := b.count(ctx, true)
	if err != nil {
		return results.Run{}, err
	}
	if err := do(); err != nil {
		return results.Run{}, err
	}
	after, err := b.count(ctx, false)
	if err != nil {
		return results.Run{}, err
	}
	used := after.since(before)
	return results.Run{Seconds: used.Seconds, Usage: used}, nil
}
