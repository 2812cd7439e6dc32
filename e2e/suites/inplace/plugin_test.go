//go:build e2e

package inplace

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/holdfast-project/holdfast/e2e/framework"
	"github.com/holdfast-project/holdfast/shared/coordination"
)

// TestThePluginShowsARestart checks the output of `kubectl holdfast` after a restart.
func TestThePluginShowsARestart(t *testing.T) {
	g, before := startSupervised(t, nil)
	victim := worker(before, 1)
	g.signal(victim, unix.SIGKILL)
	g.awaitPhase(coordination.Running, 1, 1)
	g.awaitCharged(1)
	says := func(parts []string, args ...string) {
		t.Helper()
		g.must(framework.Until(g.ctx, "kubectl holdfast shows the restart", func(ctx context.Context) error {
			text, err := g.Plugin(ctx, g.js.Namespace, args...)
			for _, part := range parts {
				if err == nil && !strings.Contains(text, part) {
					err = fmt.Errorf("%v does not print %q:\n%s", args, part, text)
				}
			}
			return err
		}))
	}
	const cause = "exited with code 137 (SIGKILL)"
	says([]string{"Training", "restarts 1 of 20", "4 of 4 ready", cause}, "status", "js")
	says([]string{"restart in place", "1 of 20", "workers-0-1 on node-1", cause}, "timeline", "js")
	says([]string{"js", "JobSet"}, "top")
	says([]string{"JobSet js", "Running"}, "why", victim.Pod)
}
