package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/holdfast-project/holdfast/e2e/testbed"
	"github.com/holdfast-project/holdfast/e2e/testbed/prometheus"
)

func prometheusCommand() *cobra.Command {
	command := &cobra.Command{Use: "prometheus", Short: "Run Debian's Prometheus alongside the cluster"}
	var targets []string
	up := &cobra.Command{
		Use:     "up",
		Short:   "Start Prometheus, which scrapes the control plane and the given targets, and print its URL",
		Example: "  testbed prometheus up --target jobset-manager=127.0.0.1:8080",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cluster, err := testbed.Attach()
			if err != nil {
				return err
			}
			parsed, err := parseTargets(targets)
			if err != nil {
				return err
			}
			server, err := cluster.Prometheus(cmd.Context(), append(cluster.ControlPlaneTargets(), parsed...)...)
			if err != nil {
				return err
			}
			fmt.Fprintln(cmd.OutOrStdout(), server.URL)
			return nil
		},
	}
	up.Flags().StringArrayVar(&targets, "target", nil, "target to scrape, as JOB=HOST:PORT; may be repeated")
	down := &cobra.Command{
		Use:   "down",
		Short: "Stop Prometheus and remove its data",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cluster, err := testbed.Attach()
			if err != nil {
				return err
			}
			return cluster.StopPrometheus(cmd.Context())
		},
	}
	command.AddCommand(up, down)
	return command
}

func parseTargets(words []string) ([]prometheus.Target, error) {
	var targets []prometheus.Target
	for _, word := range words {
		job, address, found := strings.Cut(word, "=")
		if !found || job == "" || !strings.Contains(address, ":") {
			return nil, fmt.Errorf("--target %q is not of the form JOB=HOST:PORT", word)
		}
		targets = append(targets, prometheus.Target{Job: job, Addresses: []string{address}})
	}
	return targets, nil
}
