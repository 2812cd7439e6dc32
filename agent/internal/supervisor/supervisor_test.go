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

	"github.com/holdfast-project/holdfast/agent/internal/drill"
	"github.com/holdfast-project/holdfast/agent/internal/process"
	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/worker"
)

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

func nobody(process.Spec) (*process.Child, error) { return nil, os.ErrNotExist }

func observe(s *Supervisor) []worker.Process {
	o, _ := s.Observe(context.Background())
	return o.Processes
}

// direct is a supervisor without a group.
func direct(t *testing.T, w *drill.Witness, role string, change ...func(*Options)) *Supervisor {
	o := Options{
		Group: "uid", Start: process.Start, Log: quiet(),
		Program: process.Spec{Path: os.Args[0], Args: os.Args[:1], Env: w.Env(role, "slot")},
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
	if err := s.Stop(t.Context(), worker.Stop{Instance: coordination.Instance{ID: id}}); err != nil {
		t.Fatal(err)
	}
}

func TestNothingRunsBeforeItsLift(t *testing.T) {
	w := drill.NewWitness(t)
	s := direct(t, w, "trains")
	if got := observe(s); len(got) != 0 {
		t.Fatalf("%+v before the core asked", got)
	}
	s.Begin()
	first := observe(s)[0]
	s.Lift("another", 1, 0)
	w.Silent(50 * time.Millisecond)
	s.Lift(first.ID, 1, 0)
	s.Lift(first.ID, 1, 0)
	w.Hear(1, "started", "0")
	w.Silent(50 * time.Millisecond)
}

func TestALiftThatComesAfterTheStopIsNothing(t *testing.T) {
	w := drill.NewWitness(t)
	s := direct(t, w, "trains")
	s.Begin()
	first := observe(s)[0]
	mustStop(t, s, first.ID)
	if got := observe(s)[0]; got.Running || got.ExitCode != 143 {
		t.Errorf("an instance that was stopped at the barrier is %+v", got)
	}
	s.Lift(first.ID, 1, 0)
	s.Begin()
	s.Lift(first.ID, 1, 0)
	w.Silent(50 * time.Millisecond)
}

func TestInstancesHaveNamesAndBirthsOfTheirOwn(t *testing.T) {
	future := time.Now().Add(time.Hour).UnixMicro() // the clock was set back meanwhile
	s := direct(t, drill.NewWitness(t), "trains", func(o *Options) { o.After = future })
	var last worker.Process
	last.Born = future
	for range 3 {
		s.Begin()
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

func TestTheNextInstanceWaitsUntilNothingIsLeftOfTheOneBefore(t *testing.T) {
	w := drill.NewWitness(t)
	s := direct(t, w, "trains")
	s.Begin()
	s.Lift(observe(s)[0].ID, 1, 0)
	w.Hear(1, "started", "0")
	first := s.newest()
	s.mu.Lock()
	first.dead = true // its leader; the rest of it lives
	s.mu.Unlock()
	s.Begin()
	if got := observe(s); len(got) != 1 {
		t.Fatalf("%+v while something of the first one lives", got)
	}
	mustStop(t, s, first.ID)
	eventually(t, "the next one waits", func() bool { return len(observe(s)) == 2 && observe(s)[1].Running })
}

// What a leader leaves behind may be stuck in a driver for long. Its death is told before, and no other instance begins meanwhile.
func TestAFailureIsToldBeforeItsTreeIsGone(t *testing.T) {
	for name, end := range map[string]struct {
		signal syscall.Signal
		dead   bool
	}{"a leader that is killed": {syscall.SIGKILL, true}, "one that finishes": {syscall.SIGUSR1, false}} {
		t.Run(name, func(t *testing.T) {
			w := drill.NewWitness(t)
			ending, gone := make(chan bool), make(chan bool)
			s := direct(t, w, "trains", func(o *Options) {
				o.End = func(c *process.Child, first syscall.Signal, grace time.Duration) error {
					ending <- true
					<-gone
					return c.End(first, grace)
				}
			})
			s.Begin()
			first := s.newest()
			s.Lift(first.ID, 1, 0)
			kill(t, w.Hear(1, "started", "0")["slot"], end.signal)
			<-ending
			if got := observe(s)[0]; got.Running == end.dead {
				t.Errorf("%+v while its tree is being ended", got)
			}
			s.Begin()
			if got := observe(s); len(got) != 1 {
				t.Errorf("%+v while something of the first one lives", got)
			}
			close(gone)
			<-first.gone
			if got := observe(s)[0]; got.Running {
				t.Errorf("%+v when nothing of it is left", got)
			}
		})
	}
}

// What survives its kill keeps the slot at the barrier, and its death is told all the same.
func TestWhatSurvivesItsKillHasNoSuccessor(t *testing.T) {
	w := drill.NewWitness(t)
	var tries atomic.Int32
	s := direct(t, w, "trains", func(o *Options) {
		o.End = func(c *process.Child, first syscall.Signal, grace time.Duration) error {
			if tries.Add(1) == 1 {
				return process.ErrUnkilled
			}
			return c.End(first, grace)
		}
	})
	s.Begin()
	s.Lift(observe(s)[0].ID, 1, 0)
	kill(t, w.Hear(1, "started", "0")["slot"], syscall.SIGKILL)
	eventually(t, "the death is told", func() bool { return !observe(s)[0].Running })
	s.Begin()
	if got := observe(s); len(got) != 1 {
		t.Errorf("%+v while something of the first one lives", got)
	}
	eventually(t, "it is tried again, and the next one waits", func() bool { return len(observe(s)) == 2 })
	if tries.Load() != 2 {
		t.Errorf("tried %d times", tries.Load())
	}
}

func TestARepeatedBeginIsOneBegin(t *testing.T) {
	w := drill.NewWitness(t)
	s := direct(t, w, "trains")
	s.Begin()
	s.Begin()
	s.Lift(observe(s)[0].ID, 1, 0)
	kill(t, w.Hear(1, "started", "0")["slot"], syscall.SIGUSR1)
	<-s.newest().gone
	if got := observe(s); len(got) != 1 || got[0].Running {
		t.Errorf("%+v, want the finished one alone", got)
	}
}

func TestAnInstanceThatIsNotThereIsStopped(t *testing.T) {
	mustStop(t, direct(t, drill.NewWitness(t), "trains"), "another")
}

func TestALostStopIsNoStop(t *testing.T) {
	w := drill.NewWitness(t)
	s := direct(t, w, "ignores TERM", func(o *Options) { o.GracePeriod = 100 * time.Millisecond })
	s.Begin()
	s.Lift(observe(s)[0].ID, 1, 0)
	w.Hear(1, "started", "0")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Stop(ctx, worker.Stop{Instance: observe(s)[0].Instance}); err == nil {
		t.Error("no error")
	}
}

func TestASignalDuringTheStartIsNotLost(t *testing.T) {
	w := drill.NewWitness(t)
	up, signalled := make(chan bool), make(chan bool)
	s := direct(t, w, "trains", func(o *Options) {
		o.Start = func(p process.Spec) (*process.Child, error) {
			child, err := process.Start(p)
			close(up)
			<-signalled
			return child, err
		}
	})
	s.Signal(syscall.SIGHUP) // nobody is there
	s.Begin()
	s.Signal(syscall.SIGHUP) // nor at the barrier
	s.Lift(observe(s)[0].ID, 1, 0)
	<-up
	w.Hear(1, "started", "0")
	s.Signal(syscall.SIGHUP)
	close(signalled)
	w.Hear(1, "hangup", "0")
	w.Silent(50 * time.Millisecond)
}

func TestWhoIsToldToEndHasNotFinished(t *testing.T) {
	w := drill.NewWitness(t)
	s := direct(t, w, "exits 0 on TERM")
	s.Begin()
	s.Lift(observe(s)[0].ID, 1, 0)
	w.Hear(1, "started", "0")
	if err := s.Leave(t.Context(), syscall.SIGTERM, time.Minute); err != nil {
		t.Fatal(err)
	}
	if got := observe(s)[0]; got.Running || got.ExitCode != 143 {
		t.Errorf("%+v, want a death", got)
	}
	s.Begin()
	if got := observe(s); len(got) != 1 {
		t.Errorf("%+v follow", got)
	}
}

func TestACheckpointInProgressIsWaitedFor(t *testing.T) {
	w := drill.NewWitness(t)
	s := direct(t, w, "checkpoints", func(o *Options) {
		o.CheckpointFile, o.CheckpointGrace, o.GracePeriod = w.Dir+"/checkpoint", time.Minute, 10*time.Second
	})
	s.Begin()
	s.Lift(observe(s)[0].ID, 1, 0)
	w.Hear(1, "started", "0")
	mustStop(t, s, observe(s)[0].ID)
	w.Hear(1, "saved", "0")
}

// A drain deletes several pods of a group: the first death orders the others, which save, and are told to end with their pods.
func TestAPodsEndWaitsForNoCheckpointThatAnOrderWaitsFor(t *testing.T) {
	w := drill.NewWitness(t)
	s := direct(t, w, "never saves", func(o *Options) { o.CheckpointFile, o.CheckpointGrace = w.Dir+"/checkpoint", time.Hour })
	s.Begin()
	s.Lift(observe(s)[0].ID, 1, 0)
	w.Hear(1, "started", "0")
	first := s.newest()
	ordered := make(chan error, 1)
	go func() { ordered <- s.Stop(t.Context(), worker.Stop{Instance: first.Instance}) }()
	eventually(t, "the order waits", func() bool { s.mu.Lock(); defer s.mu.Unlock(); return first.told })
	time.Sleep(50 * time.Millisecond) // for the goroutine of the instance to take it; if it does not, the test has shown nothing
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := s.Leave(ctx, syscall.SIGTERM, 100*time.Millisecond); err != nil {
		t.Errorf("the pod's end: %v", err)
	}
	if err := <-ordered; err != nil {
		t.Errorf("the order: %v", err)
	}
}

func TestACheckpointIsNotWaitedForForever(t *testing.T) {
	w := drill.NewWitness(t)
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
	s.Begin()
	s.Lift(observe(s)[0].ID, 1, 0)
	w.Hear(1, "started", "0")
	mustStop(t, s, observe(s)[0].ID)
	if _, err := os.Stat(file); err != nil {
		t.Fatalf("the worker did not leave its file: %v", err)
	}
	s.Begin()
	eventually(t, "the next one waits", func() bool { return len(observe(s)) == 2 && observe(s)[1].Running })
	s.Lift(observe(s)[1].ID, 1, 1)
	eventually(t, "the file of the killed worker is removed", func() bool { _, err := os.Stat(file); return os.IsNotExist(err) })
}

func TestOverlay(t *testing.T) {
	got := strings.Join(overlay([]string{"A=1", "HOLDFAST_X=old", "B", "AB=2"}, []string{"HOLDFAST_X=new", "A=3"}), " ")
	if want := "B AB=2 HOLDFAST_X=new A=3"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestIsMounted(t *testing.T) {
	const info = "30 23 0:26 / /sys rw - sysfs sysfs rw\n812 790 254:1 /x/hostname /etc/hostname rw,relatime - ext4 /dev/vda rw\n"
	for path, want := range map[string]bool{"/etc/hostname": true, "/sys": true, "/etc/hosts": false, "/x/hostname": false} {
		if got := isMounted([]byte(info), path); got != want {
			t.Errorf("%s: %v", path, got)
		}
	}
}

func TestThePodWasBornBeforeItsContainers(t *testing.T) {
	now := time.Now()
	if got := PodBorn(now); got <= 0 || got > now.UnixMicro() {
		t.Errorf("born at %d, it is %d", got, now.UnixMicro())
	}
}

// Workers of two restarts must not meet under one name.
func TestVariablesThatNameARound(t *testing.T) {
	s := New(Options{
		Group: "uid", Program: process.Spec{Env: []string{"PET_RDZV_ID=run", "PET_RDZV_BACKEND=c10d"}}, RoundVariables: []string{"PET_RDZV_ID", "ABSENT"},
	})
	got := strings.Join(s.program(round{epoch: 2, round: 5}).Env, " ")
	want := "PET_RDZV_BACKEND=c10d HOLDFAST_RESTART_EPOCH=2 HOLDFAST_RESTART_ROUND=5 HOLDFAST_RENDEZVOUS_ID=uid-2-5 PET_RDZV_ID=run-2-5"
	if got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if again := strings.Join(s.program(round{epoch: 2, round: 6}).Env, " "); !strings.HasSuffix(again, " PET_RDZV_ID=run-2-6") {
		t.Errorf("the next one: %s", again)
	}
}
