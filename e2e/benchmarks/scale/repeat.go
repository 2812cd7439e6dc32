package main

import (
	"context"
	"fmt"
	"time"

	"github.com/holdfast-project/holdfast/e2e/benchmarks/scale/results"
	"github.com/holdfast-project/holdfast/e2e/framework"
)

// repeat kills one worker of a group after another, within the ten minutes after which a kubelet resets its
// back-off. The first variant kills a different worker each time, the second one the same worker.
func (b *benchmark) repeat(ctx context.Context, g *group) error {
	for _, variant := range []struct {
		name   string
		victim func(int) string
	}{
		{results.OthersFail, g.victim},
		{results.SameFails, func(int) string { return g.victim(0) }},
	} {
		b.simulation.Forgive()
		var runs []results.Run
		first := time.Now()
		for i := range b.failures {
			if i > 0 && time.Since(first)+b.pace > b.within {
				break
			}
			if i > 0 {
				if err := framework.Pause(ctx, b.pace); err != nil {
					return err
				}
			}
			run, err := b.strike(ctx, g, results.Repeat, i, func(context.Context, int) (time.Time, error) {
				return b.agents.Fail(g.js.Name, variant.victim(i))
			})
			if err != nil {
				return fmt.Errorf("%s, failure %d: %w", variant.name, i+1, err)
			}
			runs = append(runs, run)
		}
		k := results.Key{Scenario: results.Repeat, Way: g.way, Workers: g.size, JobSets: 1, Variant: variant.name}
		if err := b.keep(k, runs, 0); err != nil {
			return err
		}
	}
	return nil
}
