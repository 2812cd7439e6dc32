// Package app is the sidecar agent. It answers the startup probe and runs the group protocol for the worker in its
// pod's slot.
package app

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/holdfast-project/holdfast/agent/internal/config"
	"github.com/holdfast-project/holdfast/agent/internal/loop"
	"github.com/holdfast-project/holdfast/agent/internal/startup"
	"github.com/holdfast-project/holdfast/shared/coordination/worker"
)

// Patience is how long the runtime may be unreachable before the agent exits with an error. A restarted runtime
// replaces its socket, and the kubelet mounts the new one when it restarts the agent. The worker is not affected.
const Patience = 20 * time.Second

// Run runs the agent until ctx is done, and then returns nil. It returns an error if the worker's runtime has been
// unreachable for too long. The worker keeps running in either case. p.Report need not be set.
func Run(ctx context.Context, c config.Config, p loop.Parts, patience time.Duration) error {
	gate := newGate("the container runtime has not responded yet")
	closeServer, err := serve(c.ReadyPort, gate)
	if err != nil {
		return err
	}
	defer closeServer()
	p.Log.Info("agent started", "group", c.JobSetUID, "store", c.Store.Address)
	memory, err := startup.Load(c.StartupDir, c.PodUID)
	if err != nil {
		p.Log.Warn("startup file invalid, starting as a new pod", "error", err)
	}
	p.Report = gate.report
	settings := loop.Config{Identity: c.Identity, StartupDir: c.StartupDir, PollingInterval: c.PollingInterval, Patience: patience}
	return loop.Run(ctx, settings, p, worker.Config{Grace: c.GracePeriod, RemoveStopped: c.RemoveStopped}, memory)
}

// serve starts listening for probes. Run calls it first, because the kubelet sends its first probe immediately.
func serve(port int, gate *gate) (closeServer func(), err error) {
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
