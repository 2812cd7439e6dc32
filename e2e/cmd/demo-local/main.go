// Command demo-local restarts a group of eight worker processes on this host, without a cluster. The supervisors and
// the store are real. It kills one worker twice and prints how long the group took to run again. It exits 0 only if
// every worker restarted exactly once for each failure and no supervisor exited.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/holdfast-project/holdfast/e2e/fakes/members"
	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/group"
	"github.com/holdfast-project/holdfast/shared/coordination/simulation/grouptest"
	"github.com/holdfast-project/holdfast/shared/coordination/valkey"
)

const (
	workers  = 8
	failures = 2
	// uid represents the UID of a JobSet.
	uid = "00000000-0000-0000-0000-000000000000"
	// connectionsPerSupervisor counts one connection for calls and one for the subscription.
	connectionsPerSupervisor = 2
	timeout                  = 30 * time.Second
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	programs := flag.String("programs", "bin", "folder of the programs holdfast-exec and worker")
	flag.Parse()
	if err := run(ctx, *programs); err != nil {
		fmt.Fprintln(os.Stderr, "demo-local:", err)
		stop()
		os.Exit(1)
	}
}

func run(ctx context.Context, programs string) (err error) {
	say("starting a store and %d workers, each under its own supervisor", workers)
	server, err := members.StartServer(ctx, workers*connectionsPerSupervisor)
	if err != nil {
		return err
	}
	defer server.Stop()
	if err := open(ctx, server.Address); err != nil {
		return err
	}
	folder, err := os.MkdirTemp("", "holdfast-demo-")
	if err != nil {
		return fmt.Errorf("creating a folder: %w", err)
	}
	defer os.RemoveAll(folder)
	begin := time.Now()
	s, err := startWorkers(programs, folder, server.Address)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	now, err := s.await(ctx, 0)
	if err != nil {
		return err
	}
	fmt.Printf("  all %d run after %d ms\n", workers, now.last.Sub(begin).Milliseconds())
	for round := 1; round <= failures; round++ {
		if now, err = s.fail(ctx, round, now); err != nil {
			return err
		}
	}
	return nil
}

// open creates the group in the store, as the orchestrator does for a JobSet.
func open(ctx context.Context, address string) error {
	store, err := valkey.New(valkey.Options{Address: address})
	if err != nil {
		return fmt.Errorf("connecting to the store: %w", err)
	}
	defer store.Close()
	if err := store.Load(ctx); err != nil {
		return fmt.Errorf("loading the functions into the store: %w", err)
	}
	_, err = grouptest.Open(ctx, store, uid, group.Wanted{
		Generation: 1, Limit: failures, Barrier: true, Stages: []coordination.Stage{{Prefix: "demo-workers", Jobs: 1, Pods: workers}},
	})
	if err != nil {
		return fmt.Errorf("creating the group: %w", err)
	}
	return nil
}

func say(format string, args ...any) { fmt.Printf("== "+format+"\n", args...) }
