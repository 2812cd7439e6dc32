// Command testbed starts and stops a real Kubernetes cluster on this host.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := root().ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "testbed:", err)
		os.Exit(1)
	}
}

func root() *cobra.Command {
	command := &cobra.Command{
		Use:           "testbed",
		Short:         "A real Kubernetes cluster on this host, without a registry",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	command.AddCommand(upCommand(), downCommand(), buildCommand(), statusCommand(),
		loadCommand(), imageCommand(), kubeconfigCommand(), redisCommand(), simulateCommand(), prometheusCommand(), kueueCommand())
	return command
}
