package app

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-project/holdfast/agent/internal/config"
	"github.com/holdfast-project/holdfast/agent/internal/cri"
	"github.com/holdfast-project/holdfast/agent/internal/journal"
	"github.com/holdfast-project/holdfast/agent/internal/loop"
	"github.com/holdfast-project/holdfast/agent/internal/testing/fakecri"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
)

// node is one pod: a runtime behind a socket, a kubelet, a volume, and an agent that can be stopped and restarted.
type node struct {
	t       *testing.T
	runtime *fakecri.Runtime
	store   rounds.Members
	socket  string
	config  config.Config
	log     *lines
	started int

	cancel context.CancelFunc
	ended  chan error
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

func newNode(t *testing.T, store rounds.Members, i int) *node {
	uid := fmt.Sprint("pod", i)
	dir := t.TempDir()
	n := &node{t: t, runtime: fakecri.New(uid, "worker"), store: store, socket: filepath.Join(dir, "cri.sock"), log: &lines{}}
	n.config = config.Config{
		Identity: config.Identity{JobSetUID: "uid", WorkerID: fmt.Sprint("js-w-0-", i), PodUID: uid}, ContainerName: "worker", GracePeriod: time.Second,
		CRISocket: n.socket, PollingInterval: 50 * time.Millisecond, ReadyPort: freePort(t), StartupDir: dir,
	}
	if err := n.runtime.Serve(n.socket); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(n.runtime.Close)
	return n
}

func freePort(t *testing.T) int {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// start runs the agent.
func (n *node) start() {
	driver, err := cri.New(cri.Options{
		Socket: n.socket, PodUID: n.config.PodUID, ContainerName: "worker", PollingInterval: n.config.PollingInterval,
	})
	if err != nil {
		n.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(n.t.Context())
	n.cancel, n.ended = cancel, make(chan error, 1)
	go func() {
		defer driver.Close()
		n.ended <- Run(ctx, n.config, loop.Parts{Driver: driver, Watcher: driver, Store: n.store, Log: journal.New(n.log, slog.LevelDebug)}, Patience)
	}()
	n.t.Cleanup(n.end)
}

// end stops the agent the way the kubelet does.
func (n *node) end() {
	if n.cancel == nil {
		return
	}
	n.cancel()
	n.cancel = nil
	if err := <-n.ended; err != nil {
		n.t.Errorf("%s ended with %v", n.config.PodUID, err)
	}
}

// kubelet starts the next container some time after one has failed.
func (n *node) kubelet(ctx context.Context) {
	for ctx.Err() == nil {
		time.Sleep(30 * time.Millisecond)
		if _, running := n.runtime.Newest(); !running {
			n.started++
			n.runtime.Start(fmt.Sprintf("%s-c%d", n.config.PodUID, n.started))
		}
	}
}
