package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"time"

	"github.com/holdfast-project/holdfast/e2e/benchmarks/scale/results"
	"github.com/holdfast-project/holdfast/e2e/framework"
)

// failureInterval is the time between two failures in the cluster.
const failureInterval = time.Second

// playMany runs many JobSets and kills a worker of one of them every second.
func (b *benchmark) playMany(ctx context.Context, way string) error {
	jobSets, workers, err := shapeOf(b.many)
	if err != nil {
		return err
	}
	began := time.Now()
	groups := make([]*group, jobSets)
	err = framework.Each(jobSets, func(i int) (err error) {
		groups[i], err = b.start(ctx, fmt.Sprintf("train-%d", i), way, 1, workers, false)
		return err
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "%-22s %d JobSets of %d run after %.1f s\n", way, jobSets, workers, time.Since(began).Seconds())
	b.simulation.Forgive()
	hits := &hits{busy: map[*group]bool{}}
	run, err := b.window(ctx, func() error { return hits.all(ctx, b, groups) })
	if err != nil {
		return err
	}
	run.Outages = hits.outages
	b.say(groups[0], results.Many, run)
	return b.keep(results.Key{Scenario: results.Many, Way: way, Workers: jobSets * workers, JobSets: jobSets}, []results.Run{run}, hits.skipped)
}

// hits records the failures of one window.
type hits struct {
	mu      sync.Mutex
	busy    map[*group]bool // still recovering
	outages []float64
	skipped int
	errs    []error
}

// all kills a worker of one group every second, skipping groups that are still recovering. It returns once all have
// recovered.
func (h *hits) all(ctx context.Context, b *benchmark, groups []*group) error {
	var answers sync.WaitGroup
	defer answers.Wait() // also after a cancellation, because the goroutines write to hits
	ticker := time.NewTicker(failureInterval)
	defer ticker.Stop()
	for end := time.Now().Add(b.manyFor); time.Now().Before(end); {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
		g := groups[rand.IntN(len(groups))]
		if !h.take(g) {
			continue
		}
		answers.Go(func() { h.one(ctx, g) })
	}
	answers.Wait()
	if len(h.errs) > 0 {
		return fmt.Errorf("the groups did not recover from %d failures, the first: %w", len(h.errs), h.errs[0])
	}
	return nil
}

func (h *hits) take(g *group) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.busy[g] {
		h.skipped++
		return false
	}
	h.busy[g] = true
	return true
}

func (h *hits) one(ctx context.Context, g *group) {
	watch := g.agents.Watch(g.js.Name)
	at, err := g.agents.Fail(g.js.Name, g.slot(rand.IntN(g.size)))
	var last time.Time
	if err == nil {
		last, err = g.awaitAnswer(ctx, watch, g.round)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.busy, g)
	if err != nil {
		h.errs = append(h.errs, err)
		return
	}
	h.outages = append(h.outages, last.Sub(at).Seconds())
}
