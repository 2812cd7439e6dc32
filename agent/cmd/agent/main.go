// Command agent is the sidecar of JobSet KEP-876. It restarts the worker's container together with the rest of the
// group.
//
// Build it with CGO_ENABLED=0 and -tags grpcnotrace. gRPC's request tracing imports text/template, which prevents the
// linker from removing unused methods and adds 9 MB.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/holdfast-project/holdfast/agent/internal/app"
	"github.com/holdfast-project/holdfast/agent/internal/config"
	"github.com/holdfast-project/holdfast/agent/internal/cri"
	"github.com/holdfast-project/holdfast/agent/internal/journal"
	"github.com/holdfast-project/holdfast/agent/internal/loop"
	"github.com/holdfast-project/holdfast/agent/internal/store"
)

// Exit codes.
const (
	failed    = 1
	misplaced = 2 // invalid settings: restarting does not help
)

func main() { os.Exit(run()) }

func run() int {
	c, err := config.Parse(os.Args[1:], os.Getenv)
	if err != nil {
		return journal.End("agent", misplaced, err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	return journal.End("agent", failed, start(ctx, c))
}

func start(ctx context.Context, c config.Config) error {
	driver, err := cri.New(cri.Options{
		Socket: c.CRISocket, PodUID: c.PodUID, ContainerName: c.ContainerName, PollingInterval: c.PollingInterval,
	})
	if err != nil {
		return err
	}
	defer driver.Close()
	log := journal.New(os.Stderr, c.LogLevel).With("slot", c.WorkerID, "pod", c.PodUID)
	groups, err := store.Members(c.Store, "holdfast-agent", log)
	if err != nil {
		return err
	}
	defer groups.Close()
	return app.Run(ctx, c, loop.Parts{Driver: driver, Watcher: driver, Store: groups, Log: log}, app.Patience)
}
