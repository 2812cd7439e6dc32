package main

import (
	"github.com/spf13/cobra"

	"github.com/holdfast-project/holdfast/e2e/testbed"
	"github.com/holdfast-project/holdfast/e2e/testbed/kueue"
)

func kueueCommand() *cobra.Command {
	command := &cobra.Command{Use: "kueue", Short: "Run Kueue's real manager alongside the cluster"}
	var frameworks []string
	up := &cobra.Command{
		Use:   "up",
		Short: "Build the manager if necessary, apply its CRDs and webhooks, and start it",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cluster, err := testbed.Attach()
			if err != nil {
				return err
			}
			return cluster.Kueue(cmd.Context(), cmd.ErrOrStderr(), frameworks...)
		},
	}
	up.Flags().StringSliceVar(&frameworks, "framework", kueue.Frameworks(), "framework that Kueue manages; may be repeated")
	down := &cobra.Command{
		Use:   "down",
		Short: "Remove the webhooks and stop the manager; the CRDs and their objects are kept",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cluster, err := testbed.Attach()
			if err != nil {
				return err
			}
			return cluster.StopKueue(cmd.Context())
		},
	}
	command.AddCommand(up, down)
	return command
}
