package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/holdfast-project/holdfast/e2e/testbed"
)

// errUnhealthy sets the exit code when the status shows problems.
var errUnhealthy = errors.New("the testbed is not healthy")

func statusCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Show what is running, or what is left on this host",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			status, err := testbed.Inspect(cmd.Context())
			if err != nil {
				return err
			}
			status.Print(cmd.OutOrStdout())
			if (status.Up && !status.Healthy()) || len(status.Leftovers) > 0 {
				return errUnhealthy
			}
			return nil
		},
	}
}

func loadCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "load IMAGE.tar...",
		Short: "Load images from archives into every node",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, archives []string) error {
			cluster, err := testbed.Attach()
			if err != nil {
				return err
			}
			for _, archive := range archives {
				if err := cluster.LoadImage(cmd.Context(), archive); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

func kubeconfigCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "kubeconfig",
		Short: "Print the path of the administrator's kubeconfig",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cluster, err := testbed.Attach()
			if err != nil {
				return err
			}
			fmt.Fprintln(cmd.OutOrStdout(), cluster.KubeconfigPath())
			return nil
		},
	}
}

func redisCommand() *cobra.Command {
	command := &cobra.Command{Use: "redis", Short: "Stop and start the store"}
	stop := &cobra.Command{
		Use:   "stop",
		Short: "Stop the store",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cluster, err := testbed.Attach()
			if err != nil {
				return err
			}
			return cluster.Redis().Stop(cmd.Context())
		},
	}
	var wipe bool
	start := &cobra.Command{
		Use:   "start",
		Short: "Start the store",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cluster, err := testbed.Attach()
			if err != nil {
				return err
			}
			return cluster.Redis().Start(cmd.Context(), wipe)
		},
	}
	start.Flags().BoolVar(&wipe, "wipe", false, "delete the data first")
	command.AddCommand(stop, start)
	return command
}
