package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/holdfast-project/holdfast/agent/internal/testing/workers"
	"github.com/holdfast-project/holdfast/shared/coordination"
	rules "github.com/holdfast-project/holdfast/shared/coordination/group"
	"github.com/holdfast-project/holdfast/shared/coordination/valkey"
)

// The test binary is also the program under test. If its first argument is workerWord, it is the worker.
const (
	mainVariable = "HOLDFAST_TEST_MAIN"
	workerWord   = "worker"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == workerWord {
		workers.PlayRole()
	}
	if os.Getenv(mainVariable) == "" {
		os.Exit(m.Run())
	}
	if os.Getpid() == 1 { // a new PID namespace needs its own /proc
		if err := syscall.Mount("proc", "/proc", "proc", 0, ""); err != nil {
			panic(err)
		}
	}
	main()
}

// container is one run of the program. If isolated, the program is PID 1 of its own PID namespace.
type container struct {
	t       testing.TB
	command *exec.Cmd
	ended   chan int
	mu      sync.Mutex
	log     []string
	starts  chan start // of the worker, read from the log
}

// start records when a worker was started, and how long that took after its release from the barrier.
type start struct {
	at   time.Time
	took time.Duration
}

var tookUs = regexp.MustCompile(`"worker started".*"tookUs":([0-9]+)`)

type settings struct {
	isolated bool
	env      []string
	args     []string
}

func launch(t testing.TB, s settings) *container {
	t.Helper()
	c := &container{t: t, ended: make(chan int, 1), starts: make(chan start, 1024), command: exec.Command(os.Args[0], s.args...)}
	c.command.Env = append(s.env, mainVariable+"=1", "PATH="+os.Getenv("PATH"))
	c.command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if s.isolated {
		c.command.SysProcAttr.Cloneflags = syscall.CLONE_NEWPID | syscall.CLONE_NEWNS
		c.command.SysProcAttr.Unshareflags = syscall.CLONE_NEWNS // makes mounts private
	}
	log, err := c.command.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.command.Start(); err != nil {
		t.Fatal(err)
	}
	go c.follow(bufio.NewScanner(log))
	t.Cleanup(c.end)
	return c
}

func (c *container) follow(log *bufio.Scanner) {
	for log.Scan() {
		if m := tookUs.FindStringSubmatch(log.Text()); m != nil {
			us, _ := strconv.Atoi(m[1])
			c.starts <- start{time.Now(), time.Duration(us) * time.Microsecond}
		}
		c.mu.Lock()
		c.log = append(c.log, log.Text())
		c.mu.Unlock()
	}
	_ = c.command.Wait()
	c.ended <- c.command.ProcessState.Sys().(syscall.WaitStatus).ExitStatus()
}

func (c *container) end() {
	_ = c.command.Process.Kill()
	c.exit()
	if c.t.Failed() {
		c.t.Log(c.logText())
	}
}

// logText returns what the program has logged.
func (c *container) logText() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return strings.Join(c.log, "\n")
}

// exit waits for the program to exit and returns its exit code, or -1 if it was killed.
func (c *container) exit() int {
	c.t.Helper()
	select {
	case code := <-c.ended:
		c.ended <- code
		return code
	case <-time.After(20 * time.Second):
		c.t.Fatal("the supervisor did not exit")
		return 0
	}
}

func (c *container) signal(s os.Signal) {
	if err := c.command.Process.Signal(s); err != nil {
		c.t.Fatal(err)
	}
}

// group is a group of one replicatedJob in a real store.
type group struct {
	t        testing.TB
	store    *valkey.Store
	address  string
	recorder *workers.Recorder
}

func newGroup(t testing.TB, size int64) *group {
	address := workers.Redis(t)
	g := &group{t: t, address: address, store: workers.LeaderStore(t, address), recorder: workers.NewRecorder(t)}
	workers.KeepGroup(t, g.store, "uid", rules.Wanted{
		Generation: 1, Limit: 1 << 40, Barrier: true, Stages: []coordination.Stage{{Prefix: "js-w", Jobs: 1, Pods: size}},
	})
	return g
}

// worker returns the settings for the pod in slot i.
func (g *group) worker(i int, role string) settings {
	return settings{
		env: append(g.recorder.Env(role, fmt.Sprint(i)),
			"JOBSET_UID=uid", "JOBSET_NAME=js", "REPLICATED_JOB_NAME=w", "JOB_INDEX=0", "JOB_COMPLETION_INDEX="+strconv.Itoa(i),
			fmt.Sprint("POD_UID=pod", i), "VALKEY_ADDRESS="+g.address, "STARTUP_DIR="+g.volume(i)),
		args: []string{"--max-stops-per-minute=1000000", "--", os.Args[0], workerWord},
	}
}

func (g *group) volume(i int) string {
	dir := filepath.Join(g.recorder.Dir, fmt.Sprint("volume", i))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		g.t.Fatal(err)
	}
	return dir
}

// childOf returns the only child of a process, as a PID in the test's namespace.
func childOf(t testing.TB, parent int) int {
	t.Helper()
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, file := range stats {
		line, _ := os.ReadFile(file)
		_, rest, _ := strings.Cut(string(line), ") ")
		if f := strings.Fields(rest); len(f) > 1 && f[1] == strconv.Itoa(parent) && f[0] != "Z" {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
			return pid
		}
	}
	t.Fatalf("process %d has no child", parent)
	return 0
}
