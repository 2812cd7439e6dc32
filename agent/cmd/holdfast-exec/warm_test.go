package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
)

// script writes a line with its PID, its restart count, whether it was forked from a process that has imported decimal,
// its arguments, and the variables set by the test. If a progress timeout is set, it reports progress once. It ignores
// SIGTERM.
const script = `
import os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
with open(os.environ["LINES"], "a") as f:
    f.write(f"{os.getpid()} {os.environ['HOLDFAST_RESTART_ROUND']} {'decimal' in sys.modules}"
            f" {' '.join(sys.argv[1:])} {os.environ.get('RANK')} {os.environ.get('MASTER_ADDR')}\n")
import holdfast
holdfast.progress()
time.sleep(600)
`

// warm returns the settings for a pod that runs the script with a warm start.
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

// awaitLine waits for the line with the given restart count, and returns the PID in it.
func awaitLine(t *testing.T, lines string, round int) (pid int) {
	t.Helper()
	pid, _ = awaitStart(t, lines, round)
	return pid
}

// awaitStart waits for the line with the given restart count, and returns its PID, and its arguments and variables.
func awaitStart(t *testing.T, lines string, round int) (pid int, identity string) {
	t.Helper()
	for range 2000 {
		f, err := os.Open(lines)
		if err == nil {
			for s := bufio.NewScanner(f); s.Scan(); {
				fields := strings.SplitN(s.Text(), " ", 4)
				if len(fields) < 4 || fields[1] != strconv.Itoa(round) {
					continue
				}
				f.Close()
				if fields[2] != "True" {
					t.Errorf("the worker of restart %d was started cold", round)
				}
				pid, _ = strconv.Atoi(fields[0])
				return pid, fields[3]
			}
			f.Close()
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("there is no line for restart %d", round)
	return 0, ""
}

// TestAWarmGroupRestarts kills one of two workers that were started warm. Both are started warm again.
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
			t.Errorf("the worker of restart %d is still alive", round)
		}
	}
}

// TestAWarmWorkerHangs runs a worker that reports progress only once after each start. Each time it is killed as hung,
// and its group restarts warm.
func TestAWarmWorkerHangs(t *testing.T) {
	g := newGroup(t, 1)
	lines := filepath.Join(g.recorder.Dir, "lines")
	s := g.warm(0, lines)
	s.env = append(s.env, "PROGRESS_TIMEOUT=1s")
	c := launch(t, s)
	first := awaitLine(t, lines, 0)
	awaitLine(t, lines, 2)
	if line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", first)); err == nil && len(line) > 0 {
		t.Errorf("the hung worker is still alive: %q", line)
	}
	if log := c.logText(); !strings.Contains(log, "worker hung") {
		t.Errorf("the log does not report the hang:\n%s", log)
	}
}

// TestAWarmSpareHasTheIdentityOfItsSlot assigns a lost pod's slot to a spare whose template is already running. The
// worker gets the slot's arguments and variables, not the template's, even after it has been killed once.
func TestAWarmSpareHasTheIdentityOfItsSlot(t *testing.T) {
	g := newGroup(t, 2)
	var all []*container
	var files []string
	for i := range 3 {
		files = append(files, filepath.Join(g.recorder.Dir, fmt.Sprint("lines", i)))
		s := g.warm(i, files[i])
		s.args = append(s.args, "--rank="+coordination.PlaceholderPod)
		s.env = append(s.env, "RANK="+coordination.PlaceholderPod, "MASTER_ADDR=js-w-0-0.js",
			"HOLDFAST_FIRST_JOB_GLOBAL_INDEX=0", "HOLDFAST_FIRST_JOB_GROUP_INDEX=0")
		if i == 2 {
			s.env = append(s.env, "JOB_INDEX="+coordination.Spares, "JOB_COMPLETION_INDEX=0")
		}
		all = append(all, launch(t, s))
	}
	expect := func(pod, round int, want string) (pid int) {
		t.Helper()
		pid, got := awaitStart(t, files[pod], round)
		if got != want {
			t.Errorf("the worker of pod %d in round %d has %q, want %q", pod, round, got, want)
		}
		return pid
	}
	expect(0, 0, "--rank=0 0 js-w-0-0.js")
	expect(1, 0, "--rank=1 1 js-w-0-0.js")
	all[2].awaitLog("warm-start template ready")

	all[0].signal(syscall.SIGKILL)
	all[0].exit()
	g.giveSlot(rounds.Slot{Name: "js-w-0-0", Pod: "pod0"}, rounds.Slot{Name: "js-w-spares-0", Pod: "pod2"})
	worker := expect(2, 1, "--rank=0 0 js-w-spares-0.js")
	expect(1, 1, "--rank=1 1 js-w-spares-0.js")
	if err := syscall.Kill(worker, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	expect(2, 2, "--rank=0 0 js-w-spares-0.js")
}

// giveSlot assigns a lost pod's slot to another pod, as the leader does.
func (g *group) giveSlot(lost, heir rounds.Slot) {
	g.t.Helper()
	stored, err := g.store.Read(g.t.Context(), "uid")
	if err == nil {
		err = g.store.Release(g.t.Context(), "uid", stored.Config.Token, stored.State.Level, 0, lost, lost.Name, heir)
	}
	if err != nil {
		g.t.Fatal(err)
	}
}

// awaitLog waits until the program has logged the given text.
func (c *container) awaitLog(text string) {
	c.t.Helper()
	for range 2000 {
		if strings.Contains(c.logText(), text) {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	c.t.Fatalf("the log does not contain %q", text)
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
		if code != misplaced {
			t.Errorf("exit code %d", code)
		}
	case <-time.After(time.Minute):
		t.Error("the command was not rejected")
	}
}
