//go:build e2e && e2e_all

package failures

import "testing"

// However often the group restarts, no worker is killed by mistake and no count is wrong. The kubelet's back-off is set
// to its minimum (see main_test.go).
func TestFiftyRestartsInARow(t *testing.T) {
	each(t, func(t *testing.T, d driver) {
		const restarts = 50
		g := start(t, d, workload{MaxRestarts: 2 * restarts})
		first := g.before
		for round := range int64(restarts) {
			g.kill(g.nth(int(round) % g.size))
			g.awaitSync(1, round+1)
			g.before = g.awaitRestarted(first, int(round)+1)
			g.awaitCharged(round + 1)
		}
		g.before = first
		g.settle(outcome{Least: restarts, Most: restarts})
	})
}
