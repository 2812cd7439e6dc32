//go:build e2e && e2e_all

package failures

import (
	"context"
	"testing"
	"time"
)

// losses are the ways to bring the store back, with or without its data. The store may lose everything that was written after began.
var losses = map[string]func(g *group, began time.Time){
	"with its data": func(g *group, _ time.Time) {
		g.must(g.Cluster.Redis().Start(g.ctx, false))
	},
	"with its log cut": func(g *group, began time.Time) {
		cut, err := g.Cluster.Redis().CutLog(g.ctx, began.Add(-time.Second))
		g.must(err)
		g.Logf("%d bytes were cut off", cut)
		g.must(g.Cluster.Redis().Start(g.ctx, false))
	},
	"empty": func(g *group, _ time.Time) {
		g.must(g.Cluster.Redis().Start(g.ctx, true))
	},
}

// outage kills the store, calls `meanwhile`, and brings the store back.
func (g *group) outage(came func(*group, time.Time), began time.Time, meanwhile func()) {
	g.Helper()
	back := func() { g.must(g.Cluster.Redis().Start(context.Background(), false)) }
	defer func() {
		if g.Cluster.Redis().PID() == 0 { // if the test has failed, the next one still needs the store
			back()
		}
	}()
	g.must(g.Cluster.Redis().Kill(g.ctx))
	meanwhile()
	came(g, began)
}

func TestTheStoreIsKilledAndRestarted(t *testing.T) {
	for name, came := range losses {
		t.Run(name+", at rest", func(t *testing.T) {
			inTurn(t, func(t *testing.T, d driver) {
				g := start(t, d, workload{})
				g.stay(quiet) // keep everything that has been written so far
				began := g.restart()
				g.outage(came, began, func() { g.stayInstances(quiet) })
				g.stay(2 * quiet)
				g.restart()
			})
		})
		for moment, w := range map[string]workload{"while workers end": stubborn, "while workers come back": {}} {
			t.Run(name+", in the middle of a restart, "+moment, func(t *testing.T) {
				inTurn(t, func(t *testing.T, d driver) {
					g := start(t, d, w)
					g.stay(quiet)
					began := g.breakOff()
					g.outage(came, began, func() {})
					// If a worker had restarted before the store lost its data, that worker has no round afterwards.
					// One more restart gives it one.
					g.settle(outcome{Least: 1, Most: 2, Spared: true})
					g.restart()
				})
			})
		}
	}
}

func TestAWorkerDiesWhileTheStoreIsUnreachable(t *testing.T) {
	for name, came := range losses {
		t.Run(name, func(t *testing.T) {
			inTurn(t, func(t *testing.T, d driver) {
				g := start(t, d, workload{})
				g.stay(quiet)
				began := g.restart()
				dead := g.nth(1)
				g.outage(came, began, func() {
					g.kill(dead)
					g.awaitAlone(g, dead)
				})
				g.settle(outcome{Least: 1, Most: 1})
			})
		})
	}
}
