package supervisor

import (
	"context"
	"log/slog"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/holdfast-project/holdfast/agent/internal/config"
	"github.com/holdfast-project/holdfast/agent/internal/process"
	"github.com/holdfast-project/holdfast/agent/internal/testing/workers"
	"github.com/holdfast-project/holdfast/shared/coordination/worker"
)

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

func nobody(process.Spec) (*process.Child, error) { return nil, os.ErrNotExist }

func observe(s *Supervisor) []worker.Process {
	o, _ := s.Observe(context.Background())
	return o.Processes
}

// direct returns a supervisor without a group.
func direct(t *testing.T, w *workers.Recorder, role string, change ...func(*Options)) *Supervisor {
	o := Options{
		Exec: config.Exec{Identity: config.Identity{JobSetUID: "uid"}},
		Parts: Parts{
			Start: process.Start, Log: quiet(),
			Program: process.Spec{Path: os.Args[0], Args: os.Args[:1], Env: w.Env(role, "slot")},
		},
	}
	for _, c := range change {
		c(&o)
	}
	s := New(o)
	t.Cleanup(func() { _ = s.Leave(context.Background(), syscall.SIGKILL, 0) })
	return s
}

func mustStop(t *testing.T, s *Supervisor, id string) {
	t.Helper()
	if err := s.Stop(t.Context(), worker.Stop{ID: id}); err != nil {
		t.Fatal(err)
	}
}

func TestNothingRunsBeforeItsStart(t *testing.T) {
	w := workers.NewRecorder(t)
	s := direct(t, w, "trains")
	if got := observe(s); len(got) != 0 {
		t.Fatalf("%+v before the first Prepare", got)
	}
	s.Prepare()
	first := observe(s)[0]
	s.Start("another", 1, 0, "")
	w.ExpectNone(50 * time.Millisecond)
	s.Start(first.ID, 1, 0, "")
	s.Start(first.ID, 1, 0, "")
	w.Await(1, "started", "0")
	w.ExpectNone(50 * time.Millisecond)
}

func TestAStartAfterTheStopIsIgnored(t *testing.T) {
	w := workers.NewRecorder(t)
	s := direct(t, w, "trains")
	s.Prepare()
	first := observe(s)[0]
	mustStop(t, s, first.ID)
	if got := observe(s)[0]; got.Running || got.ExitCode != 143 {
		t.Errorf("an instance that was stopped at the barrier is %+v", got)
	}
	s.Start(first.ID, 1, 0, "")
	s.Prepare()
	s.Start(first.ID, 1, 0, "")
	w.ExpectNone(50 * time.Millisecond)
}

func TestInstancesHaveUniqueNamesAndIncreasingBirths(t *testing.T) {
	future := time.Now().Add(time.Hour).UnixMicro() // as if the clock had since been set back
	s := direct(t, workers.NewRecorder(t), "trains", func(o *Options) { o.After = future })
	var last worker.Process
	last.Born = future
	for range 3 {
		s.Prepare()
		all := observe(s)
		next := all[len(all)-1]
		if next.ID == last.ID || next.Born <= last.Born || strings.ContainsAny(next.ID, " \t") || len(all) > remembered {
			t.Fatalf("%+v follows %+v", all, last)
		}
		last = next
		mustStop(t, s, next.ID)
		<-s.newest().gone
	}
}

func TestTheNextInstanceWaitsUntilNothingIsLeftOfThePrevious(t *testing.T) {
	w := workers.NewRecorder(t)
	s := direct(t, w, "trains")
	s.Prepare()
	s.Start(observe(s)[0].ID, 1, 0, "")
	w.Await(1, "started", "0")
	first := s.newest()
	s.mu.Lock()
	first.dead = true // the leader has died; the rest of its tree is alive
	s.mu.Unlock()
	s.Prepare()
	if got := observe(s); len(got) != 1 {
		t.Fatalf("%+v while a process of the first one is alive", got)
	}
	mustStop(t, s, first.id)
	eventually(t, "the next one waits", func() bool { return len(observe(s)) == 2 && observe(s)[1].Running })
}

// Processes left behind by a leader may hang in a driver for a long time. The leader's death is reported before they
// are gone, and no other instance starts until then.
func TestAFailureIsReportedBeforeItsTreeIsGone(t *testing.T) {
	for name, end := range map[string]struct {
		signal syscall.Signal
		dead   bool
	}{"a leader that is killed": {syscall.SIGKILL, true}, "a leader that finishes": {syscall.SIGUSR1, false}} {
		t.Run(name, func(t *testing.T) {
			w := workers.NewRecorder(t)
			ending, gone := make(chan bool), make(chan bool)
			s := direct(t, w, "trains", func(o *Options) {
				o.End = func(c *process.Child, first syscall.Signal, grace time.Duration) error {
					ending <- true
					<-gone
					return c.End(first, grace)
				}
			})
			s.Prepare()
			first := s.newest()
			s.Start(first.id, 1, 0, "")
			kill(t, w.Await(1, "started", "0")["slot"], end.signal)
			<-ending
			if got := observe(s)[0]; got.Running == end.dead {
				t.Errorf("%+v while its tree is being ended", got)
			}
			s.Prepare()
			if got := observe(s); len(got) != 1 {
				t.Errorf("%+v while a process of the first one is alive", got)
			}
			close(gone)
			<-first.gone
			if got := observe(s)[0]; got.Running {
				t.Errorf("%+v after its last process has exited", got)
			}
		})
	}
}

// A tree that survives SIGKILL holds its slot at the barrier. The death is still reported.
func TestATreeThatSurvivesItsKillHasNoSuccessor(t *testing.T) {
	w := workers.NewRecorder(t)
	var tries atomic.Int32
	s := direct(t, w, "trains", func(o *Options) {
		o.End = func(c *process.Child, first syscall.Signal, grace time.Duration) error {
			if tries.Add(1) == 1 {
				return process.ErrUnkilled
			}
			return c.End(first, grace)
		}
	})
	s.Prepare()
	s.Start(observe(s)[0].ID, 1, 0, "")
	kill(t, w.Await(1, "started", "0")["slot"], syscall.SIGKILL)
	eventually(t, "the death to be observed", func() bool { return !observe(s)[0].Running })
	s.Prepare()
	if got := observe(s); len(got) != 1 {
		t.Errorf("%+v while a process of the first one is alive", got)
	}
	eventually(t, "the kill is retried, and the next instance waits", func() bool { return len(observe(s)) == 2 })
	if tries.Load() != 2 {
		t.Errorf("tried %d times", tries.Load())
	}
}

func TestRepeatingPrepareHasNoEffect(t *testing.T) {
	w := workers.NewRecorder(t)
	s := direct(t, w, "trains")
	s.Prepare()
	s.Prepare()
	s.Start(observe(s)[0].ID, 1, 0, "")
	kill(t, w.Await(1, "started", "0")["slot"], syscall.SIGUSR1)
	<-s.newest().gone
	if got := observe(s); len(got) != 1 || got[0].Running {
		t.Errorf("%+v, want only the finished one", got)
	}
}

func TestAnUnknownInstanceCountsAsStopped(t *testing.T) {
	mustStop(t, direct(t, workers.NewRecorder(t), "trains"), "another")
}

func TestACancelledStopIsNoStop(t *testing.T) {
	w := workers.NewRecorder(t)
	s := direct(t, w, "ignores TERM", func(o *Options) { o.GracePeriod = 100 * time.Millisecond })
	s.Prepare()
	s.Start(observe(s)[0].ID, 1, 0, "")
	w.Await(1, "started", "0")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Stop(ctx, worker.Stop{ID: observe(s)[0].ID}); err == nil {
		t.Error("no error")
	}
}

func TestASignalDuringTheStartIsNotLost(t *testing.T) {
	w := workers.NewRecorder(t)
	up, signalled := make(chan bool), make(chan bool)
	s := direct(t, w, "trains", func(o *Options) {
		o.Start = func(p process.Spec) (*process.Child, error) {
			child, err := process.Start(p)
			close(up)
			<-signalled
			return child, err
		}
	})
	s.Signal(syscall.SIGHUP) // there is no instance yet
	s.Prepare()
	s.Signal(syscall.SIGHUP) // it is at the barrier
	s.Start(observe(s)[0].ID, 1, 0, "")
	<-up
	w.Await(1, "started", "0")
	s.Signal(syscall.SIGHUP)
	close(signalled)
	w.Await(1, "hangup", "0")
	w.ExpectNone(50 * time.Millisecond)
}

func TestAWorkerThatIsOrderedToEndHasNotCompleted(t *testing.T) {
	w := workers.NewRecorder(t)
	s := direct(t, w, "exits 0 on TERM")
	s.Prepare()
	s.Start(observe(s)[0].ID, 1, 0, "")
	w.Await(1, "started", "0")
	if err := s.Leave(t.Context(), syscall.SIGTERM, time.Minute); err != nil {
		t.Fatal(err)
	}
	if got := observe(s)[0]; got.Running || got.ExitCode != 143 {
		t.Errorf("%+v, want a death", got)
	}
	s.Prepare()
	if got := observe(s); len(got) != 1 {
		t.Errorf("%+v after the pod's end", got)
	}
}

func TestAStopWaitsForACheckpoint(t *testing.T) {
	w := workers.NewRecorder(t)
	s := direct(t, w, "checkpoints", func(o *Options) {
		o.CheckpointFile, o.CheckpointGrace, o.GracePeriod = w.Dir+"/checkpoint", time.Minute, 10*time.Second
	})
	s.Prepare()
	s.Start(observe(s)[0].ID, 1, 0, "")
	w.Await(1, "started", "0")
	mustStop(t, s, observe(s)[0].ID)
	w.Await(1, "saved", "0")
}

// A drain deletes several pods of a group. The first death makes the others restart. They write a checkpoint, and then
// end with their pods.
func TestDeletingThePodEndsTheWaitForACheckpoint(t *testing.T) {
	w := workers.NewRecorder(t)
	s := direct(t, w, "never saves", func(o *Options) { o.CheckpointFile, o.CheckpointGrace = w.Dir+"/checkpoint", time.Hour })
	s.Prepare()
	s.Start(observe(s)[0].ID, 1, 0, "")
	w.Await(1, "started", "0")
	first := s.newest()
	ordered := make(chan error, 1)
	go func() { ordered <- s.Stop(t.Context(), worker.Stop{ID: first.id}) }()
	eventually(t, "the order waits", func() bool { s.mu.Lock(); defer s.mu.Unlock(); return first.stopping })
	time.Sleep(50 * time.Millisecond) // gives the instance's goroutine time to receive it; otherwise the test proves nothing
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := s.Leave(ctx, syscall.SIGTERM, 100*time.Millisecond); err != nil {
		t.Errorf("the pod's end: %v", err)
	}
	if err := <-ordered; err != nil {
		t.Errorf("the order: %v", err)
	}
}

func TestTheWaitForACheckpointIsLimited(t *testing.T) {
	w := workers.NewRecorder(t)
	file := w.Dir + "/checkpoint"
	var second atomic.Bool
	s := direct(t, w, "never saves", func(o *Options) {
		o.CheckpointFile, o.CheckpointGrace = file, 50*time.Millisecond
		o.Start = func(p process.Spec) (*process.Child, error) {
			if second.Swap(true) {
				return nobody(p)
			}
			return process.Start(p)
		}
	})
	s.Prepare()
	s.Start(observe(s)[0].ID, 1, 0, "")
	w.Await(1, "started", "0")
	mustStop(t, s, observe(s)[0].ID)
	if _, err := os.Stat(file); err != nil {
		t.Fatalf("the worker did not leave its file: %v", err)
	}
	s.Prepare()
	eventually(t, "the next one waits", func() bool { return len(observe(s)) == 2 && observe(s)[1].Running })
	s.Start(observe(s)[1].ID, 1, 1, "")
	eventually(t, "the file of the killed worker is removed", func() bool { _, err := os.Stat(file); return os.IsNotExist(err) })
}

func TestOverlay(t *testing.T) {
	got := strings.Join(overlay([]string{"A=1", "HOLDFAST_X=old", "B", "AB=2"}, []string{"HOLDFAST_X=new", "A=3"}), " ")
	if want := "B AB=2 HOLDFAST_X=new A=3"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Workers from different restarts must not use the same rendezvous ID.
func TestRoundVariablesHaveTheRound(t *testing.T) {
	s := New(Options{
		Exec:  config.Exec{Identity: config.Identity{JobSetUID: "uid"}, RoundVariables: []string{"PET_RDZV_ID", "ABSENT"}},
		Parts: Parts{Program: process.Spec{Env: []string{"PET_RDZV_ID=run", "PET_RDZV_BACKEND=c10d"}}},
	})
	got := strings.Join(s.inRound(s.options.Program, round{generation: 2, number: 5}).Env, " ")
	want := "PET_RDZV_BACKEND=c10d HOLDFAST_RESTART_EPOCH=2 HOLDFAST_RESTART_ROUND=5 HOLDFAST_RENDEZVOUS_ID=uid-2-5 PET_RDZV_ID=run-2-5"
	if got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if again := strings.Join(s.inRound(s.options.Program, round{generation: 2, number: 6}).Env, " "); !strings.HasSuffix(again, " PET_RDZV_ID=run-2-6") {
		t.Errorf("the next one: %s", again)
	}
}
