package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfast-project/holdfast/e2e/fakes/kubelet"
	"github.com/holdfast-project/holdfast/e2e/testbed"
)

// removeTimeout limits the clean-up after an interrupt.
const removeTimeout = 2 * time.Minute

func simulateCommand() *cobra.Command {
	rules := kubelet.KubeletRules()
	options := kubelet.Options{Rules: &rules}
	command := &cobra.Command{
		Use:   "simulate",
		Short: "Simulate nodes and their pods until interrupted, then remove them",
		Long: `Simulate nodes and their pods until interrupted, then remove them.

Pods run on these nodes if they tolerate the taint "simulated". Set the node selector type=simulated as well. A pod
with the annotation ` + kubelet.SucceedAfter + `: 30s succeeds 30 s after its start.`,
		Example: "  testbed simulate --nodes 1000 --pools 10",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return simulate(cmd, options)
		},
	}
	flags := command.Flags()
	flags.StringVar(&options.Name, "name", "sim", "name of the simulation, and prefix of the names of its nodes")
	flags.IntVar(&options.Nodes, "nodes", 100, "number of nodes; 0 removes the nodes that a killed run left behind")
	flags.IntVar(&options.Pools, "pools", 1, "number of node pools, which are the values of the label "+kubelet.PoolLabel)
	flags.IntVar(&options.GPUs, "gpus", 8, "number of nvidia.com/gpu on each node")
	flags.DurationVar(&options.Heartbeat, "heartbeat", 20*time.Second, "interval at which leases are renewed; negative: never")
	flags.DurationVar(&rules.StartDelay, "start-delay", rules.StartDelay, "time from a pod's binding until it runs")
	flags.DurationVar(&rules.StopDelay, "stop-delay", rules.StopDelay, "time from a pod's deletion until it is gone")
	flags.DurationVar(&rules.BackOff.Max, "kubelet-restart-period", rules.BackOff.Max,
		"maximum of the back-off between restarts of a container")
	return command
}

func simulate(cmd *cobra.Command, options kubelet.Options) error {
	cluster, err := testbed.Attach()
	if err != nil {
		return err
	}
	begin := time.Now()
	simulation, err := cluster.Simulate(cmd.Context(), options)
	if err != nil {
		return err
	}
	fmt.Fprintf(cmd.OutOrStdout(), "%d nodes are ready after %.1f s; interrupt to remove them\n",
		options.Nodes, time.Since(begin).Seconds())
	if options.Nodes > 0 {
		<-cmd.Context().Done()
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(cmd.Context()), removeTimeout)
	defer cancel()
	return simulation.Remove(ctx)
}
