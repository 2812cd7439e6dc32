// Package app runs the agent: it listens for the startup probe, feeds the core with what happens, and does what the core
// decides.
package app

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"time"

	"github.com/holdfast-project/holdfast/agent/internal/config"
	"github.com/holdfast-project/holdfast/agent/internal/ready"
	"github.com/holdfast-project/holdfast/agent/internal/startup"
	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/member"
)

// Driver reaches the instances of the worker.
type Driver interface {
	// Observe looks at all instances, the dead ones included. It is never called concurrently.
	Observe(context.Context) (member.Observed, error)
	// Stop ends one instance and returns when it has exited.
	Stop(ctx context.Context, id string, grace time.Duration) error
	// Remove deletes the records of exited instances.
	Remove(ctx context.Context, ids []string) error
}

// Watcher tells when it is worth looking, and what is wrong when a look fails.
type Watcher interface {
	// Watch calls wake, which does not block, until ctx ends.
	Watch(ctx context.Context, wake func())
	// Explain says what an operator can do about an error of Observe.
	Explain(error) string
}

// Parts are what the agent works with.
type Parts struct {
	Driver  Driver
	Watcher Watcher
	Store   coordination.Agent
	Log     *slog.Logger
}

// Run runs the agent until ctx ends, which is no error, or until it cannot reach its worker's runtime any more. The
// worker is left alone in either case.
func Run(ctx context.Context, c config.Config, p Parts) error {
	gate := ready.New("the container runtime has not answered yet")
	closeServer, err := serve(c.ReadyPort, gate)
	if err != nil {
		return err
	}
	defer closeServer()
	p.Log.Info("agent started", "group", c.JobSetUID, "store", c.ValkeyAddress)
	memory, err := startup.Load(c.StartupDir, c.PodUID)
	if err != nil {
		p.Log.Warn("the start-up file is of no use: going on as in a new pod", "error", err)
	}
	state := member.New(member.Config{
		Slot: c.WorkerID, Pod: c.PodUID, Grace: c.GracePeriod, RemoveStopped: c.RemoveStopped, Random: rand.Float64,
	}, memory)
	return newLoop(c, p, state, gate).run(ctx)
}

// serve listens before anything else is done, because the first probe comes at once.
func serve(port int, gate *ready.Gate) (closeServer func(), err error) {
	l, err := net.Listen("tcp", fmt.Sprintf(":%d", port))
	if err != nil {
		return nil, fmt.Errorf("listening for the startup probe, see --ready-port: %w", err)
	}
	mux := http.NewServeMux()
	mux.Handle("/ready", gate)
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	go server.Serve(l) //nolint:errcheck // ends with Close
	return func() { server.Close() }, nil
}
