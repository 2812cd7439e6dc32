package process

import (
	"errors"
	"os"
	"sync"
	"syscall"
	"testing"
	"time"
)

// adopted returns the reaper shared by all tests. A program has only one.
var adopted = sync.OnceValues(Adopt)

func start(t *testing.T, w *recorder, role string) *Child {
	t.Helper()
	r, err := adopted()
	if err != nil {
		t.Fatal(err)
	}
	c, err := r.Start(w.spec(role))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.End(syscall.SIGTERM, 0) })
	return c
}

func mustEnd(t *testing.T, c *Child, grace time.Duration) {
	t.Helper()
	if err := c.End(syscall.SIGTERM, grace); err != nil {
		t.Error(err)
	}
}

// mustBeGone checks the processes themselves, not what the package reports about them.
func mustBeGone(t *testing.T, pids map[string]int) {
	t.Helper()
	for name, pid := range pids {
		if err := syscall.Kill(pid, 0); err == nil {
			s, err := readStat(pid)
			if err == nil && s.alive() {
				t.Errorf("%s (process %d) is alive: %+v", name, pid, s)
			}
		}
	}
}

func TestExitReturnsTheExitCodeOfTheLeader(t *testing.T) {
	for role, want := range map[string]int{"exits 3": 3, "exits 0": 0, "kills itself": 137} {
		t.Run(role, func(t *testing.T) {
			c := start(t, newRecorder(t), role)
			if got := c.Exit().Code; got != want {
				t.Errorf("exit code %d, want %d", got, want)
			}
			mustEnd(t, c, 0)
			if err := syscall.Kill(c.PID(), 0); !errors.Is(err, syscall.ESRCH) {
				t.Errorf("the leader is still a zombie (%v)", err)
			}
		})
	}
}

func TestAMissingProgramFailsToStart(t *testing.T) {
	if _, err := Start(Spec{Path: "/nonexistent", Args: []string{"x"}}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error %v", err)
	}
}

func TestTheLeaderHasItsOwnSession(t *testing.T) {
	w := newRecorder(t)
	c := start(t, w, "waits")
	w.await("leader")
	s, err := readStat(c.PID())
	group, errGroup := syscall.Getpgid(c.PID())
	if err != nil || errGroup != nil || s.session != c.PID() || group != c.PID() {
		t.Errorf("session %d (%v), group %d (%v), want %d", s.session, err, group, errGroup, c.PID())
	}
}

// The whole tree is gone when End returns, no matter how its processes try to escape.
func TestEndKillsTheWholeTree(t *testing.T) {
	cases := map[string]struct {
		role    string
		members []string
		grace   time.Duration
		code    int
	}{
		"one process":                                {"waits", []string{"leader"}, 0, 137},
		"one process, with grace":                    {"waits", []string{"leader"}, 20 * time.Second, 143},
		"a leader that ignores TERM":                 {"ignores TERM", []string{"leader"}, 30 * time.Millisecond, 137},
		"a daemon in its own session":                {"leaves a daemon", []string{"leader", "daemon"}, 0, 137},
		"a daemon that ignores TERM":                 {"leaves a daemon", []string{"leader", "daemon"}, 30 * time.Millisecond, 143},
		"a child that ignores TERM in another group": {"has a child in another group", []string{"leader", "member"}, 30 * time.Millisecond, 143},
		"a child that outlives its leader":           {"leaves a saving child", []string{"leader", "member"}, 0, 1},
		"a leader with only one thread left":         {"dies but for a thread", []string{"leader"}, 0, 137},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newRecorder(t)
			c := start(t, w, tc.role)
			pids := w.await(tc.members...)
			mustEnd(t, c, tc.grace)
			mustBeGone(t, pids)
			if got := c.Exit().Code; got != tc.code {
				t.Errorf("exit code %d, want %d", got, tc.code)
			}
		})
	}
}

func TestTheGracePeriodEndsWhenTheTreeIsGone(t *testing.T) {
	w := newRecorder(t)
	c := start(t, w, "has a saving child")
	pids := w.await("leader", "member")
	begun := time.Now()
	mustEnd(t, c, time.Minute)
	if took := time.Since(begun); took > 20*time.Second {
		t.Errorf("took %v of a minute's grace", took)
	}
	w.await("saved")
	mustBeGone(t, pids)
	if got := c.Exit().Code; got != 0 {
		t.Errorf("exit code %d, want 0", got)
	}
}

func TestEndWithoutAReaperKillsTheSession(t *testing.T) {
	w := newRecorder(t)
	c, err := Start(w.spec("leaves a saving child"))
	if err != nil {
		t.Fatal(err)
	}
	pids := w.await("leader", "member")
	<-c.Exited()
	mustEnd(t, c, 0)
	mustBeGone(t, pids)
}

func TestEndFailsOnASurvivingTreeAndCanBeRepeated(t *testing.T) {
	w := newRecorder(t)
	c := start(t, w, "waits")
	w.await("leader")
	c.reaped = true // suppresses the signal
	if err := c.kill(time.Now()); !errors.Is(err, ErrUnkilled) {
		t.Errorf("error %v, want ErrUnkilled", err)
	}
	c.reaped = false
	mustEnd(t, c, 0)
}

func TestSignalsReachTheGroup(t *testing.T) {
	w := newRecorder(t)
	c := start(t, w, "tells signals")
	w.await("leader")
	for _, s := range []syscall.Signal{syscall.SIGHUP, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGWINCH, syscall.SIGINT} {
		c.Signal(s)
		w.await(s.String())
	}
}

func TestOrphansDoNotStayAsZombies(t *testing.T) {
	w := newRecorder(t)
	c := start(t, w, "leaves an orphan that exits")
	orphan := w.await("leader", "orphan")["orphan"]
	deadline := time.Now().Add(20 * time.Second)
	for syscall.Kill(orphan, 0) == nil {
		if time.Now().After(deadline) {
			s, err := readStat(orphan)
			t.Fatalf("the orphan was not reaped: %+v (%v)", s, err)
		}
		time.Sleep(time.Millisecond) // the exit of a process that is not a child can only be detected by polling
	}
	select {
	case <-c.Exited():
		t.Error("the leader was reaped with the orphan")
	default:
	}
}

func TestThePIDOfAnExitedLeaderIsNotReused(t *testing.T) {
	w := newRecorder(t)
	c := start(t, w, "exits 3")
	<-c.Exited()
	c.reaper.reapOrphans()
	if s, err := readStat(c.PID()); err != nil || s.state != zombie {
		t.Errorf("the leader is %+v (%v), want a zombie", s, err)
	}
	mustEnd(t, c, 0)
	c.Signal(syscall.SIGKILL) // must not reach another process
}
