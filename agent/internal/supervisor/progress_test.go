package supervisor

import (
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/holdfast-project/holdfast/agent/internal/config"
	"github.com/holdfast-project/holdfast/agent/internal/process"
	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/simulation/memory"
	"github.com/holdfast-project/holdfast/shared/coordination/worker"
)

// getOn returns a group whose workers report progress.
func getOn(t *testing.T, size int, from string) *group {
	store := memory.New(time.Now)
	g := newGroup(t, store, size, "gets on")
	for _, p := range g.pods {
		p.volume()
		p.config.Progress, p.config.ProgressFrom = worker.Progress{Timeout: 400 * time.Millisecond}, from
		p.config.PodGrace = 100 * time.Millisecond
	}
	g.open(limit)
	g.silence = func() { store.SetReachable(false) }
	return g
}

// quiet starts the group, and makes the store unreachable at the end of the test. Otherwise the first pods to end would
// make the others restart, and those have a grace period of an hour.
func (g *group) quiet() *group {
	g.start()
	g.t.Cleanup(g.silence)
	return g
}

func (g *group) cause() coordination.Cause {
	g.t.Helper()
	return g.summary().Record.Cause
}

func TestAWorkerThatHangsRestartsItsGroup(t *testing.T) {
	for _, from := range []string{config.FromFile, config.FromOutput} {
		t.Run(from, func(t *testing.T) {
			g := getOn(t, 2, from)
			g.pods[0].config.GracePeriod, g.pods[0].config.CheckpointGrace = time.Hour, time.Hour // neither applies to a worker that hangs
			g.pods[1].config.GracePeriod = 100 * time.Millisecond
			g.quiet()
			pids := g.recorder.Await(2, "started", "0")
			if err := os.WriteFile(g.pods[0].config.StartupDir+"/"+checkpointName, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			kill(t, pids["js-w-0-0"], syscall.SIGUSR1)
			g.recorder.Await(1, "stuck", "0")
			g.recorder.Await(2, "started", "1")
			want := coordination.Cause{Slot: "js-w-0-0", Kind: coordination.KindHang, ExitCode: 137, Signal: 9, Reason: "400ms"}
			if got := g.cause(); got != want {
				t.Errorf("the cause is %+v, want %+v", got, want)
			}
		})
	}
}

// A worker that a signal has stopped makes no progress, but SIGKILL still reaches it.
func TestAStoppedWorkerCountsAsHung(t *testing.T) {
	g := getOn(t, 2, config.FromFile)
	g.pods[0].config.GracePeriod, g.pods[1].config.GracePeriod = 10*time.Millisecond, 10*time.Millisecond
	g.quiet()
	pids := g.recorder.Await(2, "started", "0")
	kill(t, pids["js-w-0-1"], syscall.SIGSTOP)
	g.recorder.Await(2, "started", "1")
	if got := g.cause(); got.Kind != coordination.KindHang || got.Slot != "js-w-0-1" {
		t.Errorf("the cause is %+v", got)
	}
}

// All workers hang. None of them gets its grace period of an hour.
func TestPeersThatHangGetNoGracePeriod(t *testing.T) {
	g := getOn(t, 3, config.FromFile)
	for _, p := range g.pods {
		p.config.GracePeriod = time.Hour
	}
	g.quiet()
	for _, pid := range g.recorder.Await(3, "started", "0") {
		kill(t, pid, syscall.SIGUSR1)
	}
	g.recorder.Await(3, "stuck", "0")
	g.recorder.Await(3, "started", "1")
}

func TestReportsOfAnEarlierProgramAreNoProgress(t *testing.T) {
	path := t.TempDir() + "/progress"
	p := NewProgressFile(path)
	if p.count() != 0 {
		t.Error("a missing file counts as progress")
	}
	touch := func() {
		t.Helper()
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	touch()
	for range 2 {
		if n := p.count(); n != 1 {
			t.Errorf("%d reports after one touch", n)
		}
	}
	p.clear()
	if p.count() != 0 {
		t.Error("removing the file counts as progress")
	}
	touch()
	if p.count() != 1 {
		t.Error("a new file does not count as progress")
	}
}

var workerStarted = regexp.MustCompile(`"msg":"worker started".*?"pid":(\d+)`)

// started returns the PIDs of the processes that a pod's supervisor has started so far.
func (p *pod) started() (pids []int) {
	for _, m := range workerStarted.FindAllStringSubmatch(p.log.String(), -1) {
		pid, _ := strconv.Atoi(m[1])
		pids = append(pids, pid)
	}
	return pids
}

// The test runs the lines of the example unchanged.
func TestThePythonOfTheExample(t *testing.T) {
	content, err := os.ReadFile("../../../examples/progress.yaml")
	if err != nil {
		t.Fatal(err)
	}
	_, script, found := strings.Cut(string(content), "- |\n")
	if !found {
		t.Fatal("the example has no script")
	}
	script = strings.ReplaceAll("\n"+script, "\n                      ", "\n")
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Fatalf("%v: hack/install-debian.sh installs it", err)
	}
	g := getOn(t, 2, config.FromFile)
	for _, p := range g.pods {
		p.program = &process.Spec{Path: python, Args: []string{"python3", "-c", script}, Env: os.Environ()}
		p.config.Progress.Timeout = 2 * time.Second
	}
	g.quiet()
	file := g.pods[0].config.StartupDir + "/" + progressFile
	eventually(t, "the worker keeps touching its file", func() func() bool {
		f := NewProgressFile(file)
		return func() bool { return f.count() >= 5 }
	}())
	kill(t, g.pods[0].started()[0], syscall.SIGSTOP)
	eventually(t, "both have started again", func() bool { return len(g.pods[0].started())+len(g.pods[1].started()) == 4 })
	if got := g.cause(); got.Kind != coordination.KindHang || got.Slot != "js-w-0-0" {
		t.Errorf("the cause is %+v", got)
	}
}
