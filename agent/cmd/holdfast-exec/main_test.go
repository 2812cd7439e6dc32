package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestInvalidCommandsAndSettingsFailAtStart(t *testing.T) {
	dir := t.TempDir()
	plain := filepath.Join(dir, "plain")
	if err := os.WriteFile(plain, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	valid := []string{
		"--worker-jobset-uid=u", "--worker-id=js-w-0-0", "--worker-pod-uid=p", "--valkey-address=127.0.0.1:1", "--",
	}
	cases := map[string]struct {
		args []string
		code int
		says string
	}{
		"no settings":                   {nil, 2, "JOBSET_UID"},
		"no command":                    {valid[:4], 2, "nothing to run"},
		"a missing program":             {append(slices.Clone(valid), "no-such-program"), 127, "no-such-program"},
		"a missing path":                {append(slices.Clone(valid), "/nonexistent"), 127, "/nonexistent"},
		"a file that is not executable": {append(slices.Clone(valid), plain), 126, plain},
		"a missing install folder":      {[]string{"install", "/nonexistent"}, 1, "/nonexistent"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := launch(t, settings{args: tc.args})
			if code := c.exit(); code != tc.code || !strings.Contains(c.logText(), tc.says) {
				t.Errorf("exits %d with the log %q, want %d and %q", code, c.logText(), tc.code, tc.says)
			}
		})
	}
}

func TestInstallCopiesTheProgram(t *testing.T) {
	dir := t.TempDir()
	if code := launch(t, settings{args: []string{"install", dir}}).exit(); code != 0 {
		t.Fatalf("exits %d", code)
	}
	if f, err := os.Stat(filepath.Join(dir, "holdfast-exec")); err != nil || f.Mode().Perm() != 0o755 {
		t.Errorf("installed %v (%v)", f, err)
	}
}

// A worker dies, and later a whole container with its supervisor. All workers still complete.
func TestContainersOfAGroup(t *testing.T) {
	for name, isolated := range map[string]bool{"side by side": false, "each as PID 1": true} {
		t.Run(name, func(t *testing.T) {
			if isolated && os.Getuid() != 0 {
				t.Skip("PID namespaces need root")
			}
			g := newGroup(t, 3)
			var all []*container
			for i := range 3 {
				s := g.worker(i, "trains")
				s.isolated = isolated
				all = append(all, launch(t, s))
			}
			g.recorder.Await(3, "started", "0")
			if err := syscall.Kill(childOf(t, all[0].command.Process.Pid), syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			g.recorder.Await(3, "started", "1")

			// Kill the supervisor, as the kernel does when the container is out of memory. The kubelet then restarts
			// the container.
			worker := childOf(t, all[1].command.Process.Pid)
			all[1].signal(syscall.SIGKILL)
			all[1].exit()
			gone(t, worker)
			s := g.worker(1, "trains")
			s.isolated = isolated
			all[1] = launch(t, s)
			g.recorder.Await(3, "started", "2")

			for i, c := range all {
				if err := syscall.Kill(childOf(t, c.command.Process.Pid), syscall.SIGUSR1); err != nil {
					t.Fatal(i, err)
				}
			}
			for i, c := range all {
				if code := c.exit(); code != 0 {
					t.Errorf("container %d exits %d", i, code)
				}
			}
		})
	}
}

// gone waits until a process that is not a child of the test has exited.
func gone(t *testing.T, pid int) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
		line, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if _, rest, _ := strings.Cut(string(line), ") "); err != nil || strings.HasPrefix(rest, "Z") {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("process %d is still running", pid)
		}
	}
}

// The supervisor adopts the daemons that a worker leaves behind, ends them before the next restart, and leaves no
// zombies.
func TestDaemonsEndBeforeTheNextRestart(t *testing.T) {
	for name, isolated := range map[string]bool{"below a subreaper": false, "below PID 1": true} {
		t.Run(name, func(t *testing.T) {
			if isolated && os.Getuid() != 0 {
				t.Skip("PID namespaces need root")
			}
			g := newGroup(t, 1)
			s := g.worker(0, "leaves a daemon")
			s.args = append([]string{"--pod-termination-grace-period=1s"}, s.args...)
			s.isolated = isolated
			c := launch(t, s)
			heard := map[string]int{}
			for len(heard) < 2 {
				e := g.recorder.Next()
				heard[e.What] = e.PID
			}
			if isolated {
				c.signal(syscall.SIGTERM)
			} else {
				if err := syscall.Kill(heard["started"], syscall.SIGKILL); err != nil {
					t.Fatal(err)
				}
				if e := g.recorder.Next(); e.Round != "1" {
					t.Errorf("got %+v, want the next round", e)
				}
				if syscall.Kill(heard["daemon"], 0) == nil {
					t.Error("the daemon of round 0, or its zombie, still exists")
				}
				c.signal(syscall.SIGTERM)
			}
			if code := c.exit(); code != 143 {
				t.Errorf("exits %d, want 143", code)
			}
		})
	}
}
