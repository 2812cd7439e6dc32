package process

import (
	"errors"
	"os/exec"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestParseStat(t *testing.T) {
	const rest = " S 1 2 2 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 8245 100 200"
	tests := map[string]struct {
		stat  string
		start uint64
		fails bool
	}{
		"a plain name":                  {stat: "2 (etcd)" + rest, start: 8245},
		"a name with spaces":            {stat: "2 (tmux: server)" + rest, start: 8245},
		"a name that imitates the rest": {stat: "2 (x) S 9 9 9)" + rest, start: 8245},
		"no name":                       {stat: "2 etcd", fails: true},
		"cut off":                       {stat: "2 (etcd) S 1 2", fails: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			state, start, err := parseStat([]byte(test.stat))
			if test.fails {
				if err == nil {
					t.Fatal("no error")
				}
				return
			}
			if err != nil || state != 'S' || start != test.start {
				t.Errorf("got state %c, start %d, error %v", state, start, err)
			}
		})
	}
}

func TestAnotherProcessWithTheSamePIDIsNeverSignaled(t *testing.T) {
	id := sleeper(t)
	recycled := ID{PID: id.PID, Start: id.Start - 1}
	if recycled.Alive() {
		t.Error("a recycled pid counts as alive")
	}
	if err := recycled.Signal(unix.SIGKILL); !errors.Is(err, ErrGone) {
		t.Errorf("got %v, want ErrGone", err)
	}
	if err := recycled.Stop(t.Context(), time.Second); err != nil {
		t.Errorf("stopping what is gone: %v", err)
	}
	if !id.Alive() {
		t.Error("the innocent process was killed")
	}
}

func TestKillWaitsForTheEnd(t *testing.T) {
	id := sleeper(t)
	if err := id.Kill(t.Context()); err != nil {
		t.Fatal(err)
	}
	if id.Alive() {
		t.Error("still alive")
	}
	if err := id.Kill(t.Context()); err != nil {
		t.Errorf("killing it again: %v", err)
	}
}

func TestTheZeroIDIsNotAProcess(t *testing.T) {
	if (ID{}).Alive() {
		t.Error("alive")
	}
	if err := (ID{}).Signal(unix.SIGKILL); !errors.Is(err, ErrGone) {
		t.Errorf("got %v, want ErrGone: signal 9 to pid 0 would hit our own group", err)
	}
}

// sleeper starts a process that is reaped when it exits.
func sleeper(t *testing.T) ID {
	t.Helper()
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() { defer close(done); _ = cmd.Wait() }()
	t.Cleanup(func() { _ = cmd.Process.Kill(); <-done })
	id, err := Lookup(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	return id
}
