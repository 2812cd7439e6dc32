//go:build e2e && e2e_all

package failures

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/holdfast-project/holdfast/e2e/framework"
	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
)

// outcome is the expected result of a case.
type outcome struct {
	// Least and Most are the bounds for the number of the group's restarts. Each restart is charged.
	Least, Most int64
	// Replaced lists the workers that are in other pods afterwards.
	Replaced []string
	// Reborn lists the workers whose container restarted together with its supervisor, so that their lives count from 0.
	Reborn []string
	// Deaths is how often each worker died in addition to once for each restart.
	Deaths map[string]int
	// Spared allows workers to have restarted less often than the group, because a worker may have restarted already
	// when the store lost its data.
	Spared bool
}

// once is the usual outcome: one restart, and no worker in another pod.
var once = outcome{Least: 1, Most: 1}

// settle waits until the group is in sync again, and checks that only the expected outcome has happened.
func (g *group) settle(want outcome) {
	g.Helper()
	sum := g.awaitSync(g.epoch, g.round+want.Least)
	restarts := sum.Round - g.round
	if restarts > want.Most {
		g.Errorf("%d restarts, want %d to %d", restarts, want.Least, want.Most)
	}
	g.Logf("%d restarts; the last: %+v", restarts, sum.Record)
	after := g.awaitInstances(restarts, want)
	g.charged += restarts
	g.awaitCharged(g.charged)
	g.before, g.round = after, sum.Round
	g.checkCounts()
}

// awaitInstances returns the instances once they match the outcome. The store knows of a new instance before the API
// server does. Until then, the API server shows old instances as ready. The instances must therefore stay the same for
// a while.
func (g *group) awaitInstances(restarts int64, want outcome) map[string]instance {
	g.Helper()
	var is map[string]instance
	var since time.Time
	g.must(framework.Until(g.ctx, "the workers match the expected outcome", func(ctx context.Context) error {
		now, err := g.instances(ctx, g.Environment, g.js)
		if err != nil {
			return err
		}
		if !maps.Equal(is, now) {
			is, since = now, time.Now()
		}
		if err := g.compare(now, restarts, want); err != nil {
			return err
		}
		if still := time.Since(since); still < quiet {
			return fmt.Errorf("they have matched for only %s", still)
		}
		return nil
	}))
	return is
}

// compare checks that each worker died once per restart in its own pod, and that its Job is the same.
func (g *group) compare(after map[string]instance, restarts int64, want outcome) error {
	var errs []error
	for id, was := range g.before {
		is := after[id]
		if !is.Ready || is.Where.JobUID != was.Where.JobUID {
			errs = append(errs, fmt.Errorf("worker %s is not ready, or its Job was recreated: %+v, before %+v", id, is, was))
		}
		if moved := is.Where.PodUID != was.Where.PodUID; moved != slices.Contains(want.Replaced, id) {
			errs = append(errs, fmt.Errorf("worker %s is in another pod: %v", id, moved))
		}
		least, most := want.lives(id, int(restarts))
		if lives := is.Lives - was.Lives; lives < least || lives > most {
			errs = append(errs, fmt.Errorf("worker %s was restarted %d times, want %d to %d; before %+v, after %+v", id, lives, least, most, was, is))
		}
	}
	return errors.Join(errs...)
}

// lives returns how often a worker may have restarted in its pod.
func (o outcome) lives(id string, restarts int) (least, most int) {
	most = restarts + o.Deaths[id]
	switch {
	case slices.Contains(o.Replaced, id), slices.Contains(o.Reborn, id):
		return -1 << 20, most // the new pod or container log counts from 0
	case o.Spared:
		return min(1, most), most
	default:
		return most, most
	}
}

// stay fails the test if anything changes within the period.
func (g *group) stay(period time.Duration) {
	g.Helper()
	g.stayInstances(period)
	g.checkCounts()
}

// checkCounts checks that the group is in sync at the same restart count, and that no more restarts were charged.
func (g *group) checkCounts() {
	g.Helper()
	if sum := g.awaitSync(g.epoch, g.round); sum.Round != g.round {
		g.Errorf("the total restart count increased to %d", sum.Round)
	}
	js, err := g.JobSet(g.ctx, g.js.Namespace, g.js.Name)
	g.must(err)
	if got := js.Annotations[v1alpha2.InPlaceRestartsKey]; got != fmt.Sprint(g.charged) {
		g.Errorf("%s restarts are charged, want %d", got, g.charged)
	}
}

// stayInstances is like stay, but works while the store is unreachable.
func (g *group) stayInstances(period time.Duration) {
	g.Helper()
	for end := time.Now().Add(period); time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
		now := g.now()
		for id, was := range g.before {
			if is := now[id]; is.ID != was.ID || is.Lives != was.Lives {
				g.Fatalf("worker %s has a new instance: %+v, before %+v", id, is, was)
			}
		}
	}
}
