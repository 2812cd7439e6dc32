package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/holdfast-project/holdfast/e2e/testbed"
	"github.com/holdfast-project/holdfast/e2e/testbed/binaries"
)

// optionFlags defines the flags shared by up and build. They determine what is built.
func optionFlags(command *cobra.Command) func() (testbed.Options, error) {
	flags := command.Flags()
	var options testbed.Options
	var args []string
	flags.StringVar(&options.Kubernetes, "kubernetes", "", "minor version of Kubernetes: "+strings.Join(binaries.KubernetesMinors(), ", ")+
		" (default: HOLDFAST_KUBERNETES, else "+binaries.DefaultKubernetes+")")
	flags.IntVar(&options.Nodes, "nodes", 1, "number of real nodes")
	flags.DurationVar(&options.KubeletRestartPeriod, "kubelet-restart-period", 0,
		"maximum of the kubelet's back-off between restarts of a container (0: the kubelet's default)")
	flags.BoolVar(&options.EventedPLEG, "evented-pleg", false, "make the kubelet use containerd's events")
	flags.BoolVar(&options.KubeProxy, "kube-proxy", false, "run the service proxy, for services that are not headless")
	flags.StringArrayVar(&args, "arg", nil, "additional argument, as COMPONENT=--FLAG=VALUE; may be repeated")
	return func() (testbed.Options, error) {
		var err error
		options.Args, err = parseArgs(args)
		return options, err
	}
}

func upCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "up",
		Short: "Build what is missing, start what is not running, and wait until the cluster is ready",
		Args:  cobra.NoArgs,
	}
	options := optionFlags(command)
	command.RunE = func(cmd *cobra.Command, _ []string) error {
		wanted, err := options()
		if err != nil {
			return err
		}
		cluster, err := testbed.Up(cmd.Context(), wanted, cmd.ErrOrStderr())
		if err != nil {
			return err
		}
		fmt.Fprintf(cmd.OutOrStdout(), "export KUBECONFIG=%s\n", cluster.KubeconfigPath())
		return nil
	}
	return command
}

func downCommand() *cobra.Command {
	var purge bool
	command := &cobra.Command{
		Use:   "down",
		Short: "Stop the cluster and remove everything that it created on this host",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return testbed.Down(cmd.Context(), purge, cmd.ErrOrStderr())
		},
	}
	command.Flags().BoolVar(&purge, "purge", false, "also remove the built binaries")
	return command
}

func buildCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "build",
		Short: "Build the binaries without starting the cluster",
		Args:  cobra.NoArgs,
	}
	options := optionFlags(command)
	only := command.Flags().StringSlice("only", nil, "build only these components, separated by commas")
	command.RunE = func(cmd *cobra.Command, _ []string) error {
		wanted, err := options()
		if err != nil {
			return err
		}
		return testbed.Build(cmd.Context(), wanted, *only, cmd.ErrOrStderr())
	}
	return command
}
