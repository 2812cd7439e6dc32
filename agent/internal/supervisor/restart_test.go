package supervisor

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination"
	rules "github.com/holdfast-project/holdfast/shared/coordination/group"
	"github.com/holdfast-project/holdfast/shared/coordination/simulation/memory"
)

const limit = 100

func TestAGroupRestartsTogether(t *testing.T) {
	g := newGroup(t, memory.New(time.Now), 3, "trains")
	g.open(limit)
	g.start()
	pids := g.recorder.Await(3, "started", "0")
	for d, how := range []syscall.Signal{syscall.SIGKILL, syscall.SIGUSR2, syscall.SIGINT} {
		victim := fmt.Sprint("js-w-0-", d)
		kill(t, pids[victim], how)
		before := pids
		pids = g.recorder.Await(3, "started", fmt.Sprint(d+1))
		for slot, pid := range before {
			if pids[slot] == pid {
				t.Errorf("%s was not restarted in round %d", slot, d+1)
			}
		}
	}
}

// No matter which workers die and when, no program of a round runs while one of an earlier round is alive. The workers
// check this with file locks.
func TestRoundsNeverOverlap(t *testing.T) {
	const size = 6
	g := newGroup(t, memory.New(time.Now), size, "ignores TERM")
	for _, p := range g.pods {
		p.config.GracePeriod, p.config.PodGrace = 20*time.Millisecond, 200*time.Millisecond
	}
	g.open(limit)
	g.start()
	pids := g.recorder.Await(size, "started", "0")
	for d := 1; d <= 5; d++ {
		for range 1 + rand.IntN(3) {
			_ = syscall.Kill(pids[fmt.Sprint("js-w-0-", rand.IntN(size))], syscall.SIGKILL) // it may already be dead
		}
		pids = g.recorder.Await(size, "started", fmt.Sprint(d))
	}
}

func TestNoWorkerRunsBeforeTheLastOneHasJoined(t *testing.T) {
	g := newGroup(t, memory.New(time.Now), 3, "trains")
	g.open(limit)
	g.pods[0].start()
	g.pods[1].start()
	eventually(t, "two have joined", func() bool { return g.pods[0].log.count(`"joined"`)+g.pods[1].log.count(`"joined"`) == 2 })
	g.recorder.ExpectNone(100 * time.Millisecond)
	g.pods[2].start()
	g.recorder.Await(3, "started", "0")
}

func TestTheEnvironmentHasTheRound(t *testing.T) {
	g := newGroup(t, memory.New(time.Now), 1, "trains")
	g.open(limit, func(w *rules.Wanted) { w.Generation = 7 })
	g.start()
	e := g.recorder.Next()
	if e.Rendezvous != "uid-7-0" {
		t.Errorf("the worker reported %+v", e)
	}
	kill(t, e.PID, syscall.SIGKILL)
	if e := g.recorder.Next(); e.Rendezvous != "uid-7-1" || e.Round != "1" {
		t.Errorf("the worker reported %+v", e)
	}
}

func TestAnOrderedRestartGivesTheGracePeriod(t *testing.T) {
	g := newGroup(t, memory.New(time.Now), 2, "exits 0 on TERM")
	for _, p := range g.pods {
		p.config.GracePeriod = time.Minute
	}
	g.open(limit)
	g.start()
	pids := g.recorder.Await(2, "started", "0")
	kill(t, pids["js-w-0-0"], syscall.SIGKILL)
	if e := g.recorder.Next(); e.What != "terminated" || e.Slot != "js-w-0-1" {
		t.Errorf("the first event is %+v", e)
	}
	g.recorder.Await(2, "started", "1") // exit code 0 after being asked to stop is not a success
}

func TestAnExhaustedBudgetKillsNoWorker(t *testing.T) {
	g := newGroup(t, memory.New(time.Now), 2, "trains")
	g.open(1)
	g.start()
	kill(t, g.recorder.Await(2, "started", "0")["js-w-0-0"], syscall.SIGKILL)
	pids := g.recorder.Await(2, "started", "1")
	kill(t, pids["js-w-0-0"], syscall.SIGKILL)
	eventually(t, "Terminal", func() bool { return g.summary().Phase == coordination.Terminal })
	kill(t, pids["js-w-0-1"], syscall.SIGHUP)
	g.recorder.Await(1, "hangup", "1")
	if !g.pods[0].runs() || !g.pods[1].runs() {
		t.Error("a supervisor did not wait for the leader")
	}
}

func TestOrdersBeyondTheLimitPerMinuteAreRefusedAndReported(t *testing.T) {
	g := newGroup(t, memory.New(time.Now), 2, "trains")
	g.pods[1].config.MaxStops = 1
	g.open(limit)
	g.start()
	kill(t, g.recorder.Await(2, "started", "0")["js-w-0-0"], syscall.SIGKILL)
	pids := g.recorder.Await(2, "started", "1")
	kill(t, pids["js-w-0-0"], syscall.SIGKILL)
	eventually(t, "a recreation of the group is requested", func() bool { return g.summary().Phase == coordination.Recreating })
	kill(t, pids["js-w-0-1"], syscall.SIGHUP)
	g.recorder.Await(1, "hangup", "1")
}

// A template for warm starts may import modules for minutes.
func TestAWorkerThatWaitsForItsTemplateCanBeStopped(t *testing.T) {
	var asked atomic.Bool
	s := New(Options{Parts: Parts{Start: nobody, Await: func(ctx context.Context) { asked.Store(true); <-ctx.Done() }, Log: quiet()}})
	s.Prepare()
	id := observe(s)[0].ID
	s.Start(id, 1, 0, "")
	eventually(t, "asked", asked.Load)
	mustStop(t, s, id)
	if w := observe(s)[0]; w.Running || w.ExitCode != 143 {
		t.Errorf("%+v after the stop", w)
	}
}

func TestAProgramThatCannotBeStartedCountsAsADeath(t *testing.T) {
	s := New(Options{Parts: Parts{Start: nobody, Log: quiet()}})
	s.Prepare()
	id := observe(s)[0].ID
	s.Start(id, 1, 0, "")
	eventually(t, "dead", func() bool { w := observe(s)[0]; return !w.Running && w.ExitCode == 127 })
}

// When a container is out of memory, the kernel kills its largest process, which is the worker. The supervisor reports
// this as the reason.
func TestAWorkerThatRunsOutOfMemory(t *testing.T) {
	for name, reason := range map[string]string{"by the kernel": "OOMKilled", "by another process": ""} {
		t.Run(name, func(t *testing.T) {
			g := newGroup(t, memory.New(time.Now), 2, "trains")
			g.pods[0].killed.Store(3) // in earlier rounds
			g.open(limit)
			g.start()
			pids := g.recorder.Await(2, "started", "0")
			if reason != "" {
				g.pods[0].killed.Add(1)
			}
			kill(t, pids["js-w-0-0"], syscall.SIGKILL)
			g.recorder.Await(2, "started", "1")
			want := coordination.Cause{Slot: "js-w-0-0", Kind: coordination.KindExit, ExitCode: 137, Signal: 9, Reason: reason}
			if got := g.cause(); got != want {
				t.Errorf("the cause is %+v, want %+v", got, want)
			}
		})
	}
}
