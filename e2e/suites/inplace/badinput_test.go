//go:build e2e

package inplace

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/shared/coordination"
)

func TestAnInvalidTimeoutCausesOneEventAndTheJobSetRuns(t *testing.T) {
	g := start(t, func(js *v1alpha2.JobSet) { js.Annotations[v1alpha2.InPlaceTimeoutKey] = "60" })
	workers := g.awaitWorkers()
	e := g.awaitEvent(v1alpha2.InvalidSpecReason)
	for _, part := range []string{v1alpha2.InPlaceTimeoutKey, `"60"`, `"60s"`} {
		if !strings.Contains(e.Note, part) {
			t.Errorf("the event does not name %s: %s", part, e.Note)
		}
	}
	g.stay(workers, 3*time.Second)
	if _, err := g.Summary(g.ctx, string(g.js.UID)); !errors.Is(err, coordination.ErrNoGroup) {
		t.Errorf("the group: %v, want none", err)
	}
	g.awaitEvent(v1alpha2.InvalidSpecReason)
}

// Each program reports everything that is wrong with its command line in one message, and exits.
func TestInvalidFlagsCauseOneError(t *testing.T) {
	agent := []string{
		"--worker-jobset-uid=u", "--worker-id=js-w-0-0", "--worker-pod-uid=p", "--valkey-address=127.0.0.1:1",
		"--startup-dir=" + t.TempDir(), "--ready-port=18099",
	}
	cases := map[string]struct {
		program string
		args    []string
		code    int
		says    []string
	}{
		"the agent without its flags": {"agent", nil, 2,
			[]string{"--worker-jobset-uid", "--worker-id", "--worker-pod-uid", "--valkey-address"}},
		"an unreachable CRI socket": {"agent", append(agent, "--cri-socket-path=unix:///nowhere/containerd.sock"), 1,
			[]string{"/nowhere/containerd.sock"}},
		"the orchestrator without a store": {"orchestrator", []string{"--leader-election-namespace=x"}, 2,
			[]string{"--valkey-address"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			cmd := exec.CommandContext(ctx, shared.File("bin", tc.program), tc.args...)
			cmd.Env = []string{"PATH=" + os.Getenv("PATH")}
			out, err := cmd.CombinedOutput()
			if code := cmd.ProcessState.ExitCode(); code != tc.code {
				t.Errorf("exit code %d, want %d (%v)", code, tc.code, err)
			}
			for _, part := range tc.says {
				if !strings.Contains(string(out), part) {
					t.Errorf("the message does not name %s", part)
				}
			}
			if errors := strings.Count(string(out), `"level":"ERROR"`); errors > 1 {
				t.Errorf("%d errors for one cause", errors)
			}
			t.Logf("%s", out)
		})
	}
}
