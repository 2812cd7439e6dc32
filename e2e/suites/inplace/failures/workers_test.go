//go:build e2e && e2e_all

package failures

import (
	"context"
	"fmt"
	"testing"

	"github.com/holdfast-project/holdfast/e2e/framework"
	"github.com/holdfast-project/holdfast/shared/coordination"
)

func TestAWorkerDies(t *testing.T) {
	for name, w := range map[string]workload{
		"and the others exit on SIGTERM":         {OnTerm: "exit"},
		"and the others trap SIGTERM and exit 0": {OnTerm: "finish"},
		"and the others ignore SIGTERM":          {OnTerm: "ignore", Grace: stubborn.Grace / 2},
		"in a group of eight":                    {Size: 8},
	} {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, d driver) {
				g := start(t, d, w)
				g.kill(g.nth(1))
				g.settle(once)
			})
		})
	}
}

// The other workers are still in their grace period, so none of them is waiting for the second worker in a rendezvous yet.
func TestASecondDeathDuringARestartIsPartOfIt(t *testing.T) {
	each(t, func(t *testing.T, d driver) {
		g := start(t, d, stubborn)
		g.breakOff()
		g.kill(g.nth(2))
		g.settle(once)
	})
}

func TestAWorkerThatDiesAgainDuringARestart(t *testing.T) {
	each(t, func(t *testing.T, d driver) {
		g := start(t, d, stubborn)
		first := g.nth(0)
		g.breakOff()
		g.settle(g.killAgain(g, first))
	})
}

func (g *group) awaitOneJoined() {
	g.Helper()
	g.awaitGroup("restarting, and one has joined", func(s framework.Summary) bool {
		return s.Phase == coordination.Restarting && s.Joined == 1
	})
}

func TestAPodIsDeleted(t *testing.T) {
	t.Run("at rest", func(t *testing.T) {
		each(t, func(t *testing.T, d driver) {
			g := start(t, d, workload{})
			gone := g.nth(2)
			g.deletePod(gone)
			g.settle(outcome{Least: 1, Most: 1, Replaced: []string{gone.Where.ID}})
		})
	})
	t.Run("in the middle of a restart", func(t *testing.T) {
		each(t, func(t *testing.T, d driver) {
			g := start(t, d, stubborn)
			gone := g.nth(2)
			g.breakOff()
			g.deletePod(gone)
			g.settle(outcome{Least: 1, Most: 1, Replaced: []string{gone.Where.ID}})
		})
	})
}

func (g *group) deletePod(i instance) {
	g.Helper()
	_, err := g.DeletePod(g.ctx, i.Where)
	g.must(err)
}

// awaitReborn returns once another instance of the worker runs.
func (g *group) awaitReborn(was instance) {
	g.Helper()
	g.must(framework.Until(g.ctx, "worker "+was.Where.ID+" runs again", func(ctx context.Context) error {
		now, err := g.instances(ctx, g.Environment, g.js)
		if is := now[was.Where.ID]; err == nil && (is.ID == was.ID || !is.Ready) {
			err = fmt.Errorf("it is %+v", is)
		}
		return err
	}))
}
