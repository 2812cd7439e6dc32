package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// script writes a line with its PID, its restart count, and whether it was forked from a process that has imported
// decimal. If it is watched, it reports progress once. It ignores SIGTERM.
const script = `
import os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
with open(os.environ["LINES"], "a") as f:
    f.write(f"{os.getpid()} {os.environ['HOLDFAST_RESTART_ROUND']} {'decimal' in sys.modules}\n")
import holdfast
holdfast.progress()
time.sleep(600)
`

// warm returns the settings of a pod that runs the script with a warm start.
func (g *group) warm(i int, lines string) settings {
	python, err := exec.LookPath("python3")
	if err != nil {
		g.t.Fatal(err)
	}
	file := filepath.Join(g.recorder.Dir, "train.py")
	if err := os.WriteFile(file, []byte(script), 0o600); err != nil {
		g.t.Fatal(err)
	}
	path, err := filepath.Abs("../../python")
	if err != nil {
		g.t.Fatal(err)
	}
	s := g.worker(i, "")
	s.env = append(s.env, "LINES="+lines, "PYTHONPATH="+path, preloadVariable+"=decimal", "PATH="+os.Getenv("PATH"))
	s.args = []string{"--max-stops-per-minute=1000000", "--", python, file}
	return s
}

// awaitLine waits for the line of a restart count, and returns the PID in it.
func awaitLine(t *testing.T, lines string, round int) (pid int) {
	t.Helper()
	for range 2000 {
		f, err := os.Open(lines)
		if err == nil {
			for s := bufio.NewScanner(f); s.Scan(); {
				var got int
				var warm string
				if n, _ := fmt.Sscan(s.Text(), &pid, &got, &warm); n == 3 && got == round {
					f.Close()
					if warm != "True" {
						t.Errorf("the worker of restart %d was started cold", round)
					}
					return pid
				}
			}
			f.Close()
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("restart %d has no line", round)
	return 0
}

// TestAWarmGroupRestarts kills one of two workers that were started warm. Both restart, again warm.
func TestAWarmGroupRestarts(t *testing.T) {
	g := newGroup(t, 2)
	var files []string
	for i := range 2 {
		files = append(files, filepath.Join(g.recorder.Dir, fmt.Sprint("lines", i)))
		launch(t, g.warm(i, files[i]))
	}
	for round := range 3 {
		first, second := awaitLine(t, files[0], round), awaitLine(t, files[1], round)
		if err := syscall.Kill(first, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		awaitLine(t, files[1], round+1)
		if line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", second)); err == nil && strings.Contains(string(line), "train.py") {
			t.Errorf("the worker of restart %d is alive", round)
		}
	}
}

// TestAWarmWorkerHangs runs a worker that reports progress only once after each start. Each time it is killed as hung,
// and its group restarts, again warm.
func TestAWarmWorkerHangs(t *testing.T) {
	g := newGroup(t, 1)
	lines := filepath.Join(g.recorder.Dir, "lines")
	s := g.warm(0, lines)
	s.env = append(s.env, "PROGRESS_TIMEOUT=1s")
	c := launch(t, s)
	first := awaitLine(t, lines, 0)
	awaitLine(t, lines, 2)
	if line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", first)); err == nil && len(line) > 0 {
		t.Errorf("the worker that hung is alive: %q", line)
	}
	if log := c.logText(); !strings.Contains(log, "worker hung") {
		t.Errorf("the log does not say why:\n%s", log)
	}
}

// TestAWarmStartNeedsPython checks that a command that cannot be forked from a template is rejected.
func TestAWarmStartNeedsPython(t *testing.T) {
	g := newGroup(t, 1)
	s := g.worker(0, "")
	s.env = append(s.env, preloadVariable+"=decimal")
	c := launch(t, s)
	select {
	case code := <-c.ended:
		c.ended <- code
		if code != failed {
			t.Errorf("exit code %d", code)
		}
	case <-time.After(time.Minute):
		t.Error("it runs")
	}
}
