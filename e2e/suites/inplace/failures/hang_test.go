//go:build e2e && e2e_all

package failures

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	eventsv1 "k8s.io/api/events/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/e2e/framework"
	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/history"
)

const (
	// silence is the progress timeout. A worker takes a step per second.
	silence = 4 * time.Second
	// forEver is a grace period that no test could wait for.
	forEver = 20 * time.Minute
)

// A worker that hangs does not exit and does not react to SIGTERM. Regardless of how it is configured to report
// progress, its silence is a failure, and the event and the history say so.
func TestAWorkerHangs(t *testing.T) {
	for _, from := range []string{"file", "output"} {
		t.Run(from, func(t *testing.T) {
			t.Parallel()
			g := start(t, supervised{}, workload{Progress: from})
			g.awaitFirstSteps()
			stuck := g.nth(2)
			g.hang(stuck)
			g.awaitSync(1, 1)
			g.expectHang(1, stuck)
			g.settle(once)
		})
	}
}

// All workers hang in a collective. None of them gets its grace period.
func TestRanksThatHangInACollectiveGetNoGracePeriod(t *testing.T) {
	t.Parallel()
	g := start(t, supervised{}, workload{Progress: "file", Grace: forEver})
	g.awaitFirstSteps()
	for n := range g.size {
		g.hang(g.nth(n))
	}
	g.settle(once)
	if e := g.entry(1); e.Cause.Kind != coordination.KindHang {
		g.Errorf("the record is %+v, want a hang", e)
	}
}

// Steps that arrive in time count as progress.
func TestAWorkerThatReportsProgressKeepsRunning(t *testing.T) {
	t.Parallel()
	g := start(t, supervised{}, workload{Progress: "output"})
	g.awaitFirstSteps()
	g.stay(2 * silence)
}

func (g *group) hang(i instance) {
	g.Helper()
	_, err := g.signal(g.ctx, g.Environment, i, unix.SIGHUP)
	g.must(err)
}

// awaitFirstSteps waits until every worker has reported progress, which starts its timeout.
func (g *group) awaitFirstSteps() {
	g.Helper()
	for id, i := range g.before {
		g.must(framework.Until(g.ctx, "worker "+id+" takes its first step", func(ctx context.Context) error {
			return g.LogHas(ctx, i.Where, "step 1")
		}))
	}
}

func (g *group) entry(round int64) history.Entry {
	g.Helper()
	e, err := g.AwaitEntry(g.ctx, g.js, history.Attempt{Epoch: 1, Round: round})
	g.must(err)
	return e
}

// expectHang checks that the record of a restart names the worker that hung.
func (g *group) expectHang(round int64, stuck instance) {
	g.Helper()
	e := g.entry(round)
	want := history.Cause{Kind: coordination.KindHang, ExitCode: 137, Signal: "SIGKILL", Reason: silence.String()}
	if e.Cause != want || e.Worker != strings.TrimPrefix(stuck.Where.ID, g.js.Name+"-") {
		g.Errorf("the record is %+v, want the hang of %s", e, stuck.Where.ID)
	}
	said := fmt.Sprintf("worker %s (pod %s on node %s) made no progress for %s and was killed",
		stuck.Where.ID, stuck.Where.Pod, g.Cluster.NodeNames()[0], silence)
	g.must(framework.Until(g.ctx, "an event reports the hang", func(ctx context.Context) error {
		var list eventsv1.EventList
		if err := g.Client.List(ctx, &list, client.InNamespace(g.js.Namespace)); err != nil {
			return err
		}
		for _, event := range list.Items {
			if event.Reason == "InPlaceRestart" && strings.HasPrefix(event.Note, said) {
				return nil
			}
		}
		return fmt.Errorf("none of %d says %q", len(list.Items), said)
	}))
}
