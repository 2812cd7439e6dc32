package supervisor

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/holdfast-project/holdfast/agent/internal/config"
	"github.com/holdfast-project/holdfast/agent/internal/journal"
	"github.com/holdfast-project/holdfast/agent/internal/process"
	"github.com/holdfast-project/holdfast/agent/internal/testing/workers"
	"github.com/holdfast-project/holdfast/shared/coordination"
	rules "github.com/holdfast-project/holdfast/shared/coordination/group"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
	"github.com/holdfast-project/holdfast/shared/coordination/simulation/grouptest"
)

func TestMain(m *testing.M) {
	workers.PlayRole()
	os.Exit(m.Run())
}

// bothSides is a store that is used by both members and leaders.
type bothSides interface {
	rounds.Members
	rounds.Leader
}

// group is a JobSet with one replicatedJob whose pods run under supervisors in this process.
type group struct {
	t        testing.TB
	store    bothSides
	connect  func() rounds.Members // how a pod connects to the store; nil: all pods share one connection
	recorder *workers.Recorder
	pods     []*pod
	silence  func() // makes the store unreachable; nil if the test cannot do that
	unled    func() // stops the group's leader; nil if there is none yet
}

// pod is one supervisor. Its container can be restarted.
type pod struct {
	group   *group
	config  config.Exec
	role    string
	program *process.Spec                              // replaces the role
	run     func(process.Spec) (*process.Child, error) // replaces process.Start
	signals chan os.Signal
	ended   chan result
	log     *lines
	output  *lines        // of the worker, if read by the supervisor
	killed  atomic.Uint64 // number of out-of-memory kills
}

type result struct {
	code int
	err  error
}

// lines is a log that can be read while it is being written.
type lines struct {
	mu  sync.Mutex
	all bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.Write(p)
}

func (l *lines) count(what string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.all.String(), what)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.String()
}

func newGroup(t testing.TB, store bothSides, size int, role string) *group {
	g := &group{t: t, store: store, recorder: workers.NewRecorder(t)}
	for i := range size {
		p := g.pod(i, role)
		g.pods = append(g.pods, p)
	}
	return g
}

func (g *group) pod(i int, role string) *pod {
	return &pod{
		group: g, role: role, log: &lines{}, output: &lines{},
		config: config.Exec{
			Identity: config.Identity{JobSetUID: "uid", WorkerID: fmt.Sprint("js-w-0-", i), PodUID: fmt.Sprint("pod", i)},
			PodGrace: 10 * time.Second, MaxStops: 60, LogLevel: slog.LevelDebug,
		},
	}
}

func (g *group) open(limit int64, change ...func(*rules.Wanted)) {
	g.t.Helper()
	want := rules.Wanted{
		Generation: 1, Limit: limit, Barrier: true, Stages: []coordination.Stage{{Prefix: "js-w", Jobs: 1, Pods: int64(len(g.pods))}},
	}
	for _, c := range change {
		c(&want)
	}
	g.unled = workers.KeepGroup(g.t, g.store, "uid", want)
}

func (g *group) start() *group {
	for _, p := range g.pods {
		p.start()
	}
	return g
}

// start starts the next container of the pod.
func (p *pod) start() {
	p.signals, p.ended = make(chan os.Signal, 4), make(chan result, 1)
	signals, ended, store := p.signals, p.ended, rounds.Members(p.group.store)
	if p.group.connect != nil {
		store = p.group.connect()
	}
	program := process.Spec{Path: os.Args[0], Args: os.Args[:1], Env: p.group.recorder.Env(p.role, p.config.WorkerID)}
	if p.program != nil {
		program = *p.program
	}
	run := process.Start
	if p.run != nil {
		run = p.run
	}
	go func() {
		code, err := Run(p.config, Parts{
			Program: program,
			Start:   run, Store: store, Hosts: noneMoved, Signals: signals, Output: [2]io.Writer{p.output, p.output},
			MemoryKills: func() (uint64, bool) { return p.killed.Load(), true },
			Log:         journal.New(p.log, p.config.LogLevel).With("pod", p.config.PodUID),
		})
		ended <- result{code, err}
	}()
	p.group.t.Cleanup(func() {
		select {
		case signals <- syscall.SIGTERM:
		default:
		}
		select {
		case r := <-ended:
			ended <- r
		case <-time.After(20 * time.Second):
			p.group.t.Errorf("the supervisor of %s did not exit", p.config.PodUID)
		}
		if p.group.t.Failed() {
			p.group.t.Log(p.log)
		}
	})
}

// noneMoved returns no host names, because all workers run in pods with the names of their slots.
func noneMoved(context.Context, string, []string) (map[string]string, error) { return nil, nil }

// exit waits until the supervisor has returned, and returns its exit code.
func (p *pod) exit() int {
	p.group.t.Helper()
	select {
	case r := <-p.ended:
		p.ended <- r
		if r.err != nil {
			p.group.t.Error(r.err)
		}
		return r.code
	case <-time.After(20 * time.Second):
		p.group.t.Fatalf("the supervisor of %s did not exit", p.config.PodUID)
		return 0
	}
}

func (p *pod) runs() bool {
	select {
	case r := <-p.ended:
		p.ended <- r
		return false
	default:
		return true
	}
}

func kill(t testing.TB, pid int, s syscall.Signal) {
	t.Helper()
	if err := syscall.Kill(pid, s); err != nil {
		t.Fatalf("process %d: %v", pid, err)
	}
}

// eventually polls until ok returns true.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not in time: %s", what)
		}
	}
}

func (g *group) summary() rules.Summary {
	g.t.Helper()
	s, err := grouptest.Read(context.Background(), g.store, "uid")
	if err != nil {
		g.t.Fatal(err)
	}
	return s
}
