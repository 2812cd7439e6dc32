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
		Short: "Build it if need be, apply its CRDs and webhooks, start it",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cluster, err := testbed.Attach()
			if err != nil {
				return err
			}
			return cluster.Kueue(cmd.Context(), cmd.ErrOrStderr(), frameworks...)
		},
	}
	up.Flags().StringSliceVar(&frameworks, "framework", kueue.Frameworks(), "what it manages; may be repeated")
	down := &cobra.Command{
		Use:   "down",
		Short: "Remove its webhooks and stop it; its CRDs and their objects stay",
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
