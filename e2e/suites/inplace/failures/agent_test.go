//go:build e2e && e2e_all

package failures

import (
	"context"
	"fmt"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/holdfast-project/holdfast/e2e/framework"
)

func TestAnAgentIsKilled(t *testing.T) {
	t.Run("at rest", func(t *testing.T) {
		withAgent(t, func(t *testing.T, d driver) {
			g := start(t, d, workload{})
			g.killAgent(g.nth(1))
			g.stay(quiet)
			g.kill(g.nth(1)) // it still reports
			g.settle(once)
		})
	})
	t.Run("in the middle of a restart", func(t *testing.T) {
		withAgent(t, func(t *testing.T, d driver) {
			g := start(t, d, stubborn)
			g.breakOff()
			g.killAgent(g.nth(1))
			g.settle(once)
		})
	})
	t.Run("that of the dead worker, before it can report", func(t *testing.T) {
		withAgent(t, func(t *testing.T, d driver) {
			g := start(t, d, workload{})
			dead := g.nth(1)
			g.signalAgent(dead)
			g.kill(dead)
			g.settle(once)
		})
	})
}

// withAgent runs a case with the drivers whose agent can die on its own. A supervisor takes its worker with it, see
// TestASupervisorIsKilled.
func withAgent(t *testing.T, run func(t *testing.T, d driver)) {
	each(t, func(t *testing.T, d driver) {
		if d.agent() != "" {
			run(t, d)
		}
	})
}

// signalAgent kills a worker's agent.
func (g *group) signalAgent(i instance) {
	g.Helper()
	_, err := g.SignalContainer(g.ctx, i.Where.PodUID, g.agent(), unix.SIGKILL)
	g.must(err)
}

// killAgent kills a worker's agent, and returns once the agent is running again.
func (g *group) killAgent(i instance) {
	g.Helper()
	restarts := g.agentRestarts(i)
	g.signalAgent(i)
	g.must(framework.Until(g.ctx, "the agent runs again", func(context.Context) error {
		if n := g.agentRestarts(i); n != restarts+1 {
			return fmt.Errorf("it was restarted %d times", n)
		}
		return nil
	}))
}

// agentRestarts returns the restart count of a worker's agent, or -1 while it is not running.
func (g *group) agentRestarts(i instance) int32 {
	g.Helper()
	pods, err := g.Pods(g.ctx, i.Where.Namespace, g.js.Name)
	g.must(err)
	for _, pod := range pods {
		for _, status := range pod.Status.InitContainerStatuses {
			if string(pod.UID) == i.Where.PodUID && status.Name == g.agent() && status.State.Running != nil {
				return status.RestartCount
			}
		}
	}
	return -1
}
