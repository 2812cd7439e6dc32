// Command demo kills one worker of a JobSet of eight on a real node, shows how the whole group restarts in place, and
// then answers the same failure by recreating all pods. It exits 0 only if the restart in place really happened: the same
// pods, every worker restarted once, one restart charged.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/holdfast-project/holdfast/e2e/lab"
	"github.com/holdfast-project/holdfast/e2e/testbed"
)

const (
	namespace = "default"
	inPlace   = "in-place-restart-example"
	recreate  = "recreate-example"
	workers   = 8
	victim    = 3
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	l, err := lab.New(ctx, testbed.Options{}, os.Stdout)
	if err != nil {
		return err
	}
	defer l.Close()
	say("installing the JobSet controller and the orchestrator")
	if err := l.Install(ctx); err != nil {
		return err
	}
	for _, old := range []string{inPlace, recreate} {
		if err := l.Remove(ctx, namespace, old); err != nil {
			return err
		}
	}
	fast, err := restartInPlace(ctx, l)
	if err != nil {
		return fmt.Errorf("the restart in place did not happen: %w", err)
	}
	slow, err := recreatePods(ctx, l)
	if err != nil {
		return fmt.Errorf("the recreation for comparison: %w", err)
	}
	compare(fast, slow)
	fmt.Printf("\nThe cluster is still up: export KUBECONFIG=%s\n`make demo-clean` removes it.\n", l.Cluster.KubeconfigPath())
	return nil
}

func compare(fast, slow time.Duration) {
	fmt.Printf("\nFrom the failure until all %d workers ran again:\n", workers)
	fmt.Printf("  in place     %6.2f s   the same pods, addresses, volumes and devices\n", fast.Seconds())
	fmt.Printf("  recreation   %6.2f s   new pods: deleted, created, scheduled, started\n", slow.Seconds())
	fmt.Printf("  ratio        %6.1f x\n", slow.Seconds()/fast.Seconds())
}

func say(format string, args ...any) { fmt.Printf("== "+format+"\n", args...) }
