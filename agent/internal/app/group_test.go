package app

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-project/holdfast/agent/internal/startup"
	"github.com/holdfast-project/holdfast/agent/internal/testing/workers"
	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/group"
	"github.com/holdfast-project/holdfast/shared/coordination/simulation/grouptest"
	"github.com/holdfast-project/holdfast/shared/coordination/simulation/memory"
)

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for range 500 {
		if ok() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("not within 5s: %s", what)
}

func openGroup(t *testing.T, s *memory.Store, size int64) {
	t.Helper()
	workers.KeepGroup(t, s, "uid", group.Wanted{Generation: 1, Limit: 10, Stages: []coordination.Stage{{Prefix: "js-w", Jobs: 1, Pods: size}}})
}

func running(t *testing.T, s *memory.Store, round int64) func() bool {
	return func() bool {
		sum, err := grouptest.Read(t.Context(), s, "uid")
		return err == nil && sum.Phase == coordination.Running && sum.Round == round
	}
}

func TestAGroupRestartsTogetherInPlace(t *testing.T) {
	store := memory.New(time.Now)
	openGroup(t, store, 3)
	var nodes []*node
	ctx, cancel := context.WithCancel(t.Context())
	var kubelets sync.WaitGroup
	t.Cleanup(func() { cancel(); kubelets.Wait() })
	for i := range 3 {
		n := newNode(t, store, i)
		n.start()
		nodes = append(nodes, n)
		kubelets.Go(func() { n.kubelet(ctx) })
	}
	nodes[2].runtime.Change(func() { nodes[2].runtime.StopCode = 0 })
	eventually(t, "Running(0)", running(t, store, 0))

	nodes[1].end()
	nodes[1].start()
	eventually(t, "the new agent has started", func() bool { return nodes[1].log.count(`"msg":"agent started"`) == 2 })

	nodes[0].runtime.Exit("pod0-c1", 9)
	eventually(t, "Running(1)", running(t, store, 1))
	for i, n := range nodes {
		if id, _ := n.runtime.Newest(); id != fmt.Sprintf("pod%d-c2", i) {
			t.Errorf("pod%d runs %s, want its second container", i, id)
		}
		env, err := os.ReadFile(filepath.Join(n.config.StartupDir, startup.EnvName))
		if err != nil || !strings.Contains(string(env), "HOLDFAST_RENDEZVOUS_ID=uid-1-1\n") {
			t.Errorf("the worker reads %q (%v)", env, err)
		}
	}
	eventually(t, "the container that exited 0 is removed", func() bool { return nodes[2].log.count("removed the exited containers") > 0 })
	for i, want := range []int{0, 1, 1} {
		nodes[i].runtime.Change(func() {
			if got := len(nodes[i].runtime.Stops); got != want {
				t.Errorf("pod%d was stopped %d times, want %d", i, got, want)
			}
		})
	}
}

func TestALeavingAgentReportsADeathItHasNotObserved(t *testing.T) {
	store := memory.New(time.Now)
	openGroup(t, store, 1)
	n := newNode(t, store, 0)
	n.runtime.Silent = true
	n.config.PollingInterval = time.Hour
	n.runtime.Start("a")
	n.start()
	eventually(t, "Running(0)", running(t, store, 0))
	n.runtime.Exit("a", 143)
	start := time.Now()
	n.end()
	if took := time.Since(start); took > time.Second {
		t.Errorf("took %v", took)
	}
	if sum, err := grouptest.Read(t.Context(), store, "uid"); err != nil || sum.Round != 1 {
		t.Errorf("the store has %+v (%v), want the death", sum.Level, err)
	}
}

func TestALeavingAgentDoesNotWaitForAnUnreachableStore(t *testing.T) {
	store := memory.New(time.Now)
	store.SetReachable(false)
	n := newNode(t, store, 0)
	n.runtime.Start("a")
	n.start()
	eventually(t, "the error to be logged", func() bool { return n.log.count("the store is unreachable") > 0 })
	start := time.Now()
	n.end()
	if took := time.Since(start); took > time.Second+500*time.Millisecond {
		t.Errorf("took %v", took)
	}
}

func probe(n *node) (int, time.Duration) {
	start := time.Now()
	r, err := http.Get(fmt.Sprintf("http://127.0.0.1:%d/ready", n.config.ReadyPort))
	if err != nil {
		return 0, 0
	}
	defer r.Body.Close()
	return r.StatusCode, time.Since(start)
}

func TestReadyNeedsTheRuntimeAndNotTheStore(t *testing.T) {
	store := memory.New(time.Now)
	store.SetReachable(false)
	n := newNode(t, store, 0)
	n.runtime.Change(func() { n.runtime.Hangs = true })
	n.start()
	eventually(t, "an answer", func() bool { code, _ := probe(n); return code == http.StatusServiceUnavailable })
	n.runtime.Change(func() { n.runtime.Hangs = false })
	eventually(t, "ready", func() bool { code, _ := probe(n); return code == http.StatusOK })
}
