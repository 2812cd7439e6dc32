package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/holdfast-project/holdfast/e2e/framework"
)

const (
	// settling leaves time for the last writes, and for the first reconciles of all objects after a start.
	settling = 30 * time.Second
	// atRest is how long usage is measured without activity.
	atRest = time.Minute
)

// size is one measurement of a program with a number of running pods.
type size struct {
	Pods    int
	JobSets int
	Program string
	// Growing is what the program used while the number of pods increased from the previous size. Its memory is the
	// peak, in bytes.
	Growing framework.Usage
	// Rest is the usage during atRest.
	Rest framework.Usage
	// Start is what the program used from its start until it had reconciled all objects. Its memory is the peak.
	Start framework.Usage
}

// measureAll measures each size in turn, adding pods to those of the previous size.
func (b *benchmark) measureAll(ctx context.Context) error {
	var sizes []size
	from := 0
	for _, to := range b.sizes {
		some, err := b.measure(ctx, from, to)
		if err != nil {
			return fmt.Errorf("%d pods: %w", to, err)
		}
		for _, s := range some {
			fmt.Fprintf(os.Stderr, "%+v\n", s)
		}
		sizes, from = append(sizes, some...), to
		if err := b.report(sizes); err != nil { // keep the measurements even if a later one fails
			return err
		}
	}
	return nil
}

func (b *benchmark) measure(ctx context.Context, from, to int) ([]size, error) {
	programs := make([]framework.Metered, len(b.programs))
	for i, p := range b.programs {
		programs[i] = p.metered()
	}
	growing, err := b.env.UsagesDuring(ctx, programs, func() error { return b.grow(ctx, from, to) })
	if err != nil {
		return nil, err
	}
	if err := framework.Pause(ctx, settling); err != nil {
		return nil, err
	}
	resting, err := b.env.UsagesDuring(ctx, programs, func() error { return framework.Pause(ctx, atRest) })
	if err != nil {
		return nil, err
	}
	sizes := make([]size, len(b.programs))
	for i, p := range b.programs {
		sizes[i] = size{Pods: to, JobSets: to / b.workers(), Program: p.Name, Growing: growing[i], Rest: resting[i]}
		if err := b.restart(ctx, p); err != nil {
			return nil, err
		}
		if err := framework.Pause(ctx, settling); err != nil {
			return nil, err
		}
		if sizes[i].Start, err = b.env.UsageOf(ctx, p.metered()); err != nil {
			return nil, err
		}
	}
	return sizes, nil
}
