package process

import (
	"bufio"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// program returns a program that runs a Python script, with the package holdfast in its PYTHONPATH. The script was
// started warm if decimal is imported although the script does not import it.
func program(t *testing.T, script string) Spec {
	t.Helper()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Fatal(err)
	}
	path, err := filepath.Abs("../../python")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "train.py")
	if err := os.WriteFile(file, []byte("import sys\nwarm = 'decimal' in sys.modules\n"+script), 0o600); err != nil {
		t.Fatal(err)
	}
	return Spec{Path: python, Args: []string{"python3", file, "argument"}, Env: append(os.Environ(), "PYTHONPATH="+path)}
}

func templates(t *testing.T, s Spec) *Templates {
	t.Helper()
	r, err := adopted()
	if err != nil {
		t.Fatal(err)
	}
	w, err := NewTemplates(r, s, "decimal,fractions", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// serving waits for a template whose PID differs from before, and returns its PID.
func (t *Templates) serving(tb testing.TB, before int) int {
	tb.Helper()
	for range 2000 {
		one := t.current.Load()
		if one != nil && one.process.Pid != before {
			<-one.ready
			return one.process.Pid
		}
		time.Sleep(10 * time.Millisecond)
	}
	tb.Fatal("there is no template")
	return 0
}

func TestAWarmStartBehavesLikeAColdStart(t *testing.T) {
	for name, tc := range map[string]struct {
		script string
		want   int
	}{
		"it succeeds":                  {"sys.exit(0 if warm else 9)", 0},
		"it ends at the last line":     {"pass", 0},
		"it exits":                     {"sys.exit(3)", 3},
		"it raises":                    {"sys.stderr = open('/dev/null', 'w')\n1 / 0", 1},
		"it is killed":                 {"import os, signal\nos.kill(os.getpid(), signal.SIGKILL)", 137},
		"it is terminated":             {"import os, signal\nos.kill(os.getpid(), signal.SIGTERM)", 143},
		"it blocks no signal":          {"import signal\nsys.exit(9 if signal.pthread_sigmask(signal.SIG_BLOCK, []) else 0)", 0},
		"it has its arguments":         {"sys.exit(0 if sys.argv[1:] == ['argument'] and __name__ == '__main__' else 9)", 0},
		"it has its directory":         {"import os\nsys.exit(0 if sys.path[0] == os.path.dirname(os.path.abspath(__file__)) else 9)", 0},
		"it has its environment":       {"import os\nsys.exit(0 if os.environ.get('ROUND') == '7' and 'GONE' not in os.environ else 9)", 0},
		"it leads a session":           {"import os\nsys.exit(0 if os.getsid(0) == os.getpid() == os.getpgid(0) else 9)", 0},
		"its parent is the supervisor": {"import os\nsys.exit(0 if os.getppid() == int(os.environ['SUPERVISOR']) else 9)", 0},
		"it has no socket":             {"import os\nfor f in os.listdir('/proc/self/fd'):\n  try:\n    if os.readlink('/proc/self/fd/' + f).startswith('socket'): sys.exit(9)\n  except FileNotFoundError: pass", 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := program(t, tc.script)
			s.Env = append(s.Env, "GONE=1")
			w := templates(t, s)
			w.serving(t, 0)
			s.Env = append(s.Env[:len(s.Env)-1], "ROUND=7", "SUPERVISOR="+strconv.Itoa(os.Getpid()))
			c, err := w.Start(s)
			if err != nil {
				t.Fatal(err)
			}
			if got := c.Exit().Code; got != tc.want {
				t.Errorf("exit code %d, want %d", got, tc.want)
			}
			mustEnd(t, c, 0)
			if err := syscall.Kill(c.PID(), 0); !errors.Is(err, syscall.ESRCH) {
				t.Errorf("the leader is still a zombie (%v)", err)
			}
		})
	}
}

func TestTheOutputOfAWarmStart(t *testing.T) {
	s := program(t, "print('out', warm)\nprint('err', file=sys.stderr)")
	w := templates(t, s)
	w.serving(t, 0)
	file, err := os.Create(filepath.Join(t.TempDir(), "output"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	s.Output = [2]uintptr{file.Fd(), file.Fd()}
	c, err := w.Start(s)
	if err != nil {
		t.Fatal(err)
	}
	c.Exit()
	mustEnd(t, c, 0)
	text, err := os.ReadFile(file.Name())
	if err != nil || !strings.Contains(string(text), "out True\n") || !strings.Contains(string(text), "err\n") {
		t.Errorf("%q, %v", text, err)
	}
}

// A program that runs with -u writes each line immediately.
func TestAnUnbufferedWarmStart(t *testing.T) {
	s := program(t, "import time\nprint('out', warm)\ntime.sleep(60)")
	s.Args = slices.Insert(s.Args, 1, "-u")
	w := templates(t, s)
	w.serving(t, 0)
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	s.Output = [2]uintptr{writer.Fd(), 0}
	c, err := w.Start(s)
	writer.Close()
	if err != nil {
		t.Fatal(err)
	}
	defer mustEnd(t, c, 0)
	if err := reader.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(reader).ReadString('\n'); err != nil || line != "out True\n" {
		t.Errorf("%q, %v", line, err)
	}
}

// If the template responds too late, the program is started cold, and must not run twice.
func TestAForkThatWasGivenUpDoesNotRun(t *testing.T) {
	starts := filepath.Join(t.TempDir(), "starts")
	s := program(t, "import os\nopen(os.environ['STARTS'], 'a').write('x')")
	s.Env = append(s.Env, "STARTS="+starts)
	slow := t.TempDir()
	if err := os.WriteFile(filepath.Join(slow, "slowfork.py"), []byte("import os, time\nos.register_at_fork(after_in_parent=lambda: time.sleep(7))\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for i, v := range s.Env {
		if strings.HasPrefix(v, "PYTHONPATH=") {
			s.Env[i] = v + ":" + slow
		}
	}
	startsWith(t, s, "slowfork")
	time.Sleep(4 * time.Second) // the template is killed; its fork must not run
	if text, err := os.ReadFile(starts); err != nil || string(text) != "x" {
		t.Errorf("starts %q, %v", text, err)
	}
}

// TestTheTemplateSurvivesTheEndOfATree ends a program that has started a daemon in its own session, and then starts
// another program from the same template.
func TestTheTemplateSurvivesTheEndOfATree(t *testing.T) {
	s := program(t, `
import os, time
if not warm:
    sys.exit(9)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        with open(os.environ["DAEMON"] + ".new", "w") as f:
            f.write(str(os.getpid()))
        os.rename(os.environ["DAEMON"] + ".new", os.environ["DAEMON"])
    time.sleep(600)
time.sleep(600)`)
	w := templates(t, s)
	before := w.serving(t, 0)
	for range 2 {
		daemon := filepath.Join(t.TempDir(), "daemon")
		s.Env = append(s.Env[:len(s.Env):len(s.Env)], "DAEMON="+daemon)
		c, err := w.Start(s)
		if err != nil {
			t.Fatal(err)
		}
		var pid string
		for pid == "" {
			select {
			case <-c.Exited():
				t.Fatalf("it exited with code %d", c.Exit().Code)
			case <-time.After(10 * time.Millisecond):
				b, _ := os.ReadFile(daemon)
				pid = string(b)
			}
		}
		mustEnd(t, c, 0)
		number, err := strconv.Atoi(pid)
		if err != nil {
			t.Fatal(err)
		}
		mustBeGone(t, map[string]int{"the leader": c.PID(), "the daemon": number})
	}
	if after := w.serving(t, 0); after != before {
		t.Errorf("template %d was replaced by %d", before, after)
	}
}

func TestATemplateThatDiesIsReplaced(t *testing.T) {
	s := program(t, "sys.exit(4 if warm else 5)")
	w := templates(t, s)
	before := w.serving(t, 0)
	if err := syscall.Kill(before, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	c, err := w.Start(s)
	if err != nil {
		t.Fatal(err)
	}
	if got := c.Exit().Code; got != 4 && got != 5 { // the kill may still be in progress
		t.Errorf("exit code %d", got)
	}
	mustEnd(t, c, 0)
	w.serving(t, before)
	if c, err = w.Start(s); err != nil {
		t.Fatal(err)
	}
	if got := c.Exit().Code; got != 4 {
		t.Errorf("exit code %d: it was not started from the new template", got)
	}
	mustEnd(t, c, 0)
}

// The template has initialized CUDA, which cannot be used after a fork, so the program is started cold.
func TestATemplateThatCannotFork(t *testing.T) {
	s := program(t, "sys.exit(4 if warm else 5)")
	modules := t.TempDir()
	if err := os.WriteFile(filepath.Join(modules, "torch.py"), []byte("import types\ncuda = types.SimpleNamespace(is_initialized=lambda: True)\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.Env[len(s.Env)-1] += ":" + modules
	if got := startsWith(t, s, "decimal,torch"); got != 5 {
		t.Errorf("exit code %d: the program is a fork of a process that has initialized CUDA", got)
	}
}

// A module that cannot be imported is skipped. The program gets the actual error when it imports the module itself.
func TestAModuleThatCannotBeImportedIsSkipped(t *testing.T) {
	if got := startsWith(t, program(t, "sys.exit(4 if warm else 5)"), "there.is.no.such.module,decimal"); got != 4 {
		t.Errorf("exit code %d: the other module was not imported", got)
	}
}

// startsWith returns the exit code of a program whose template imports the given modules.
func startsWith(t *testing.T, s Spec, modules string) int {
	t.Helper()
	r, err := adopted()
	if err != nil {
		t.Fatal(err)
	}
	w, err := NewTemplates(r, s, modules, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	w.Await(t.Context())
	c, err := w.Start(s)
	if err != nil {
		t.Fatal(err)
	}
	defer mustEnd(t, c, 0)
	return c.Exit().Code
}

func TestProgramsThatCannotStartWarm(t *testing.T) {
	for command, want := range map[string]bool{
		"python train.py": true, "python3.13 -u train.py": true, "/usr/bin/python3 -m train": true, "python -u -m train -x": true,
		"python": false, "python -m": false, "python -c pass": false, "python -X dev train.py": false, "torchrun train.py": false, "./train": false,
	} {
		if got := forkable(strings.Fields(command)); got != want {
			t.Errorf("%s: %v", command, got)
		}
	}
}
