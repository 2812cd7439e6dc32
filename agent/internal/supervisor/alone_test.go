package supervisor

import (
	"syscall"
	"testing"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination/simulation/memory"
)

// left returns a group of two running workers that have lost both the orchestrator and the store.
func left(t *testing.T, limit time.Duration) (*group, map[string]int) {
	t.Helper()
	store := memory.New(time.Now)
	g := newGroup(t, store, 2, "trains")
	for _, p := range g.pods {
		p.config.AloneLimit = limit
	}
	g.open(5)
	g.start()
	pids := g.recorder.Await(2, "started", "0")
	g.unled()
	store.SetReachable(false)
	t.Cleanup(func() { store.SetReachable(true) })
	return g, pids
}

func (p *pod) end(t *testing.T) result {
	t.Helper()
	select {
	case r := <-p.ended:
		p.ended <- r
		return r
	case <-time.After(20 * time.Second):
		t.Fatalf("the supervisor of %s did not exit", p.config.PodUID)
		return result{}
	}
}

func TestAFailedWorkerWithoutALeaderExitsAfterTheLimit(t *testing.T) {
	const limit = 2 * time.Second
	g, pids := left(t, limit)
	time.Sleep(limit + time.Second)
	if !g.pods[0].runs() || !g.pods[1].runs() {
		t.Fatal("workers that run were stopped")
	}
	failed := time.Now()
	kill(t, pids["js-w-0-1"], syscall.SIGKILL)
	if r := g.pods[1].end(t); r.err == nil {
		t.Errorf("the supervisor exits %d without an error", r.code)
	}
	if took := time.Since(failed); took < limit/2 || took > 3*limit {
		t.Errorf("it exits after %s, want %s", took, limit)
	}
	if !g.pods[0].runs() {
		t.Error("the other worker was stopped")
	}
}

func TestACompletedWorkerWithoutALeaderSucceeds(t *testing.T) {
	g, pids := left(t, time.Second)
	finish(t, pids, "js-w-0-0")
	if code := g.pods[0].exit(); code != 0 {
		t.Errorf("exits %d", code)
	}
}

func TestWithoutALimitAWorkerWaitsForTheStore(t *testing.T) {
	g, pids := left(t, 0)
	kill(t, pids["js-w-0-1"], syscall.SIGKILL)
	time.Sleep(2 * time.Second)
	if !g.pods[1].runs() {
		t.Error("the supervisor exited")
	}
}
