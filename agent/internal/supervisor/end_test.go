package supervisor

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/holdfast-project/holdfast/agent/internal/startup"
	"github.com/holdfast-project/holdfast/shared/coordination"
	rules "github.com/holdfast-project/holdfast/shared/coordination/group"
	"github.com/holdfast-project/holdfast/shared/coordination/simulation/memory"
)

func finish(t *testing.T, pids map[string]int, slots ...string) {
	t.Helper()
	for _, slot := range slots {
		kill(t, pids[slot], syscall.SIGUSR1)
	}
}

func TestACompletedWorkerIsHeldUntilAllHaveCompleted(t *testing.T) {
	store := memory.New(time.Now)
	g := newGroup(t, store, 2, "trains")
	g.open(limit)
	g.start()
	pids := g.recorder.Await(2, "started", "0")
	finish(t, pids, "js-w-0-0")
	eventually(t, "one has finished", func() bool { return g.summary().Done == 1 })
	if !g.pods[0].runs() {
		t.Fatal("the supervisor did not hold its worker")
	}
	finish(t, pids, "js-w-0-1")
	for i, p := range g.pods {
		if code := p.exit(); code != 0 {
			t.Errorf("pod%d exits %d", i, code)
		}
	}
}

func TestAHeldWorkerRunsAgainInTheNextRound(t *testing.T) {
	store := memory.New(time.Now)
	g := newGroup(t, store, 2, "trains")
	g.open(limit)
	g.start()
	pids := g.recorder.Await(2, "started", "0")
	finish(t, pids, "js-w-0-0")
	eventually(t, "one has finished", func() bool { return g.summary().Done == 1 })
	kill(t, pids["js-w-0-1"], syscall.SIGKILL)
	pids = g.recorder.Await(2, "started", "1")
	finish(t, pids, "js-w-0-0", "js-w-0-1")
	for i, p := range g.pods {
		if code := p.exit(); code != 0 {
			t.Errorf("pod%d exits %d", i, code)
		}
	}
}

func TestACompletedWorkerIsReleasedWhenThePolicyNoLongerNeedsIt(t *testing.T) {
	g := newGroup(t, memory.New(time.Now), 2, "trains")
	g.open(limit, func(w *rules.Wanted) { w.Stages[0].Release = coordination.ReleaseFree })
	g.start()
	pids := g.recorder.Await(2, "started", "0")
	finish(t, pids, "js-w-0-0")
	if code := g.pods[0].exit(); code != 0 {
		t.Errorf("exits %d", code)
	}
	if !g.pods[1].runs() {
		t.Error("the other supervisor exited too")
	}
	finish(t, pids, "js-w-0-1")
}

// A worker whose pod is deleted has not completed, regardless of its exit code.
func TestDeletingThePodEndsTheWorker(t *testing.T) {
	cases := map[string]struct {
		role  string
		grace time.Duration
	}{
		"the worker exits 0":         {"exits 0 on TERM", time.Minute},
		"the worker ignores it":      {"ignores TERM", 100 * time.Millisecond},
		"the worker is killed by it": {"trains", time.Minute},
		"there is no grace period":   {"ignores TERM", 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			g := newGroup(t, memory.New(time.Now), 2, "trains")
			g.pods[0].role, g.pods[0].config.PodGrace = tc.role, tc.grace
			g.open(limit)
			g.start()
			pid := g.recorder.Await(2, "started", "0")["js-w-0-0"]
			g.pods[0].signals <- syscall.SIGTERM
			if code := g.pods[0].exit(); code != 143 {
				t.Errorf("exits %d, want 143", code)
			}
			if syscall.Kill(pid, 0) == nil {
				t.Error("the worker is still running")
			}
			eventually(t, "its peer restarts", func() bool { return g.summary().Round == 1 })
			if s := g.summary(); s.Phase != coordination.Restarting {
				t.Errorf("the group is %s: the next round needs the replacement pod", s.Phase)
			}
		})
	}
}

func TestDeletingThePodEndsAWorkerAtTheBarrier(t *testing.T) {
	g := newGroup(t, memory.New(time.Now), 2, "trains")
	g.open(limit)
	g.pods[0].start()
	eventually(t, "joined", func() bool { return g.pods[0].log.count(`"joined"`) == 1 })
	g.pods[0].signals <- syscall.SIGTERM
	if code := g.pods[0].exit(); code != 143 {
		t.Errorf("exits %d, want 143", code)
	}
}

func TestOtherSignalsReachTheWorker(t *testing.T) {
	g := newGroup(t, memory.New(time.Now), 1, "trains")
	g.open(limit)
	g.start()
	g.recorder.Await(1, "started", "0")
	g.pods[0].signals <- syscall.SIGHUP
	g.recorder.Await(1, "hangup", "0")
}

func TestANewPodTakesTheSlot(t *testing.T) {
	g := newGroup(t, memory.New(time.Now), 2, "trains")
	g.open(limit)
	g.start()
	g.recorder.Await(2, "started", "0")
	g.pods[0].signals <- syscall.SIGTERM
	g.pods[0].exit()
	next := g.pod(0, "trains")
	next.config.PodUID = "younger"
	next.start()
	g.recorder.Await(2, "started", "1")
}

// volume gives a pod a startup volume.
func (p *pod) volume() string {
	p.config.StartupDir = p.group.t.TempDir()
	return p.config.StartupDir
}

// The kubelet restarts a container after its supervisor has died with all its processes. The new supervisor joins its
// group's current round.
func TestARestartedContainerJoinsTheRound(t *testing.T) {
	for name, volume := range map[string]bool{"with a startup volume": true, "without one": false} {
		t.Run(name, func(t *testing.T) {
			g := newGroup(t, memory.New(time.Now), 2, "trains")
			if volume {
				g.pods[0].volume()
			}
			g.open(limit)
			g.start()
			g.recorder.Await(2, "started", "0")
			g.pods[0].signals <- syscall.SIGTERM // simulates the death of the supervisor, which runs in the test's own process
			g.pods[0].exit()
			g.pods[0].start()
			g.recorder.Await(2, "started", "1")
		})
	}
}

func TestAnEmptiedStoreRestartsNoWorker(t *testing.T) {
	store := memory.New(time.Now)
	g := newGroup(t, store, 2, "trains")
	g.pods[0].volume()
	g.open(limit)
	g.start()
	pids := g.recorder.Await(2, "started", "0")
	kill(t, pids["js-w-0-0"], syscall.SIGKILL)
	pids = g.recorder.Await(2, "started", "1")
	g.unled()
	store.Wipe()
	g.open(limit, func(w *rules.Wanted) { w.Round, w.Entered = 1, 1 })
	eventually(t, "Running(1) again", func() bool { l := g.summary(); return l.Phase == coordination.Running && l.Round == 1 })
	kill(t, pids["js-w-0-1"], syscall.SIGKILL)
	g.recorder.Await(2, "started", "2")
}

func TestAnUnreachableStoreAtTheStart(t *testing.T) {
	store := memory.New(time.Now)
	g := newGroup(t, store, 2, "trains")
	g.open(limit)
	store.SetReachable(false)
	g.start()
	eventually(t, "the error to be logged", func() bool { return g.pods[0].log.count("the store is unreachable") > 0 })
	g.recorder.ExpectNone(50 * time.Millisecond)
	store.SetReachable(true)
	g.recorder.Await(2, "started", "0")
}

func TestAnUnreachableStoreWhileAWorkerFails(t *testing.T) {
	store := memory.New(time.Now)
	g := newGroup(t, store, 2, "trains")
	g.open(limit)
	g.start()
	pids := g.recorder.Await(2, "started", "0")
	store.SetReachable(false)
	kill(t, pids["js-w-0-0"], syscall.SIGKILL)
	eventually(t, "the death is logged", func() bool { return g.pods[0].log.count("worker exited") == 1 })
	kill(t, pids["js-w-0-1"], syscall.SIGHUP)
	g.recorder.Await(1, "hangup", "0") // the other worker is still running
	store.SetReachable(true)
	g.recorder.Await(2, "started", "1")
}

func TestDeletingThePodDoesNotWaitForAnUnreachableStore(t *testing.T) {
	store := memory.New(time.Now)
	g := newGroup(t, store, 1, "trains")
	g.open(limit)
	g.start()
	g.recorder.Await(1, "started", "0")
	store.SetReachable(false)
	begun := time.Now()
	g.pods[0].signals <- syscall.SIGTERM
	if code := g.pods[0].exit(); code != 143 || time.Since(begun) > 5*time.Second {
		t.Errorf("exits %d after %v", code, time.Since(begun))
	}
}

func TestTheVolumeKeepsTheState(t *testing.T) {
	g := newGroup(t, memory.New(time.Now), 1, "trains")
	dir := g.pods[0].volume()
	g.pods[0].config.CheckpointGrace = time.Second
	g.open(limit)
	g.start()
	g.recorder.Await(1, "started", "0")
	m, err := startup.Load(dir, "pod0")
	if err != nil || m.Instance.Round != 0 || !m.Instance.Ran {
		t.Errorf("the volume holds %+v (%v)", m, err)
	}
	if g.pods[0].log.count("worker started") != 1 {
		t.Errorf("the log does not report the start: %s", g.pods[0].log)
	}
	if err := os.WriteFile(filepath.Join(dir, checkpointName), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	g.pods[0].signals <- syscall.SIGTERM // a terminating pod does not wait for a checkpoint; the worker gets SIGTERM
	g.pods[0].exit()
	if took := time.Since(begun); took > 10*time.Second {
		t.Errorf("took %v", took)
	}
}
