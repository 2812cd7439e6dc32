package main

import (
	"context"

	"github.com/holdfast-project/holdfast/e2e/scale"
)

// steadily measures a group to which nothing happens.
func (b *benchmark) steadily(ctx context.Context, g *group) error {
	if err := pause(ctx, 2*rest); err != nil {
		return err
	}
	run, err := b.window(ctx, func() error { return pause(ctx, b.steady) })
	if err != nil {
		return err
	}
	b.say(g, scale.Steady, run)
	return b.keep(scale.Key{Scenario: scale.Steady, Way: g.way, Workers: g.size, JobSets: 1}, []scale.Run{run}, 0)
}

// window measures what is used while something is done.
func (b *benchmark) window(ctx context.Context, do func() error) (scale.Run, error) {
	before, err := b.count(ctx, true)
	if err != nil {
		return scale.Run{}, err
	}
	if err := do(); err != nil {
		return scale.Run{}, err
	}
	after, err := b.count(ctx, false)
	if err != nil {
		return scale.Run{}, err
	}
	used := after.since(before)
	return scale.Run{Seconds: used.Seconds, Usage: used}, nil
}
