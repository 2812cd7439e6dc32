//go:build e2e

// Package rendezvous tests the managed rendezvous with real PyTorch: real torchrun processes on the loopback interface,
// over c10d. It does not need a cluster. Once Debian's torch is installed (hack/install-debian.sh torch), it does not
// need root either.
package rendezvous

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"syscall"
	"testing"
	"time"

	"github.com/holdfast-project/holdfast/e2e/framework/torch"
)

const runID = "5f0c9a52-training"

// patience is how long to wait before the test fails. It is not an expectation.
const patience = 5 * time.Minute

// rendezvous is the server that `make build` left in bin.
type rendezvous struct {
	*testing.T
	workers, side string
	log           *os.File
	process       *exec.Cmd
}

func serve(t *testing.T) *rendezvous {
	t.Helper()
	log, err := os.Create(filepath.Join(t.TempDir(), "rendezvous.log"))
	if err != nil {
		t.Fatal(err)
	}
	r := &rendezvous{T: t, workers: free(t), side: free(t), log: log}
	r.start()
	t.Cleanup(r.end)
	return r
}

// free returns an address at which nothing listens.
func free(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func (r *rendezvous) start() {
	r.Helper()
	r.process = exec.Command("../../../../bin/rendezvous", "--listen="+r.workers, "--metrics="+r.side, "--run-id="+runID)
	r.process.Stderr = r.log
	r.process.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := r.process.Start(); err != nil {
		r.Fatalf("%v; `make build` builds it", err)
	}
	r.await("the server responds", func() bool {
		response, err := http.Get("http://" + r.side + "/healthz")
		if err == nil {
			response.Body.Close()
		}
		return err == nil
	})
}

// kill kills the server with SIGKILL.
func (r *rendezvous) kill() {
	r.Helper()
	_ = r.process.Process.Kill()
	_ = r.process.Wait()
}

func (r *rendezvous) end() {
	if err := r.process.Process.Signal(syscall.SIGTERM); err == nil {
		if err := r.process.Wait(); err != nil {
			r.Errorf("the server ended with %v", err)
		}
	}
	if log, err := os.ReadFile(r.log.Name()); err == nil {
		r.Logf("the server's log:\n%s", log)
	}
}

// status is the part of /status that the tests use.
type status struct {
	Round, Participants int
	Complete, Closed    bool
}

func (r *rendezvous) status() status {
	response, err := http.Get("http://" + r.side + "/status")
	if err != nil {
		return status{}
	}
	defer response.Body.Close()
	var now status
	if err := json.NewDecoder(response.Body).Decode(&now); err != nil {
		r.Error(err)
	}
	return now
}

// reopened reports whether the server has reopened a rendezvous while agents were training.
func (r *rendezvous) reopened() bool {
	response, err := http.Get("http://" + r.side + "/metrics")
	if err != nil {
		return false
	}
	defer response.Body.Close()
	metrics, err := io.ReadAll(response.Body)
	if err != nil {
		r.Error(err)
	}
	return regexp.MustCompile(`holdfast_rendezvous_opened_total{reason="left"} [1-9]`).Match(metrics)
}

func (r *rendezvous) await(what string, holds func() bool) {
	r.Helper()
	began := time.Now()
	for !holds() {
		if time.Since(began) > patience {
			r.Fatalf("timed out waiting until %s", what)
		}
		time.Sleep(50 * time.Millisecond)
	}
	r.Logf("%5.1f s until %s", time.Since(began).Seconds(), what)
}

// training is a group of agents that use the server.
type training struct {
	*rendezvous
	*torch.Group
}

func (r *rendezvous) train(g *torch.Group, agents int) *training {
	r.Helper()
	g.Endpoint, g.RunID, g.Dir = r.workers, runID, r.TempDir()
	ctx, cancel := context.WithCancel(context.Background())
	r.Cleanup(func() {
		cancel()
		g.Wait()
		if r.Failed() {
			r.tails(g.Dir)
		}
	})
	if err := g.Start(ctx, agents); err != nil {
		r.Fatal(err)
	}
	return &training{r, g}
}

// tails logs the last output of each agent.
func (r *rendezvous) tails(dir string) {
	logs, _ := filepath.Glob(filepath.Join(dir, "agent-*.log"))
	for _, name := range logs {
		b, _ := os.ReadFile(name)
		r.Logf("%s:\n%s", filepath.Base(name), b[max(0, len(b)-4000):])
	}
}

// goesOn waits for five more steps by the given number of workers.
func (t *training) goesOn(world int, what string) {
	t.rendezvous.Helper()
	began := len(t.History().Lines())
	t.await(fmt.Sprintf("%d workers continue: %s", world, what), func() bool { return t.History().GoesOn(began, world) })
}
