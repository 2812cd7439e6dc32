package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/holdfast-project/holdfast/e2e/crew"
	"github.com/holdfast-project/holdfast/e2e/lab"
	"github.com/holdfast-project/holdfast/e2e/scale"
	"github.com/holdfast-project/holdfast/e2e/simulated"
	"github.com/holdfast-project/holdfast/e2e/testbed"
)

const (
	namespace = "bench-scale"
	// pools of nodes, one for each Job.
	pools = 5

	orchestratorName                        = "jobset-orchestrator"
	orchestratorHealth, orchestratorMetrics = "127.0.0.1:18864", "127.0.0.1:18865"
	orchestratorProfile                     = "127.0.0.1:18866"
)

// benchmark is one invocation.
type benchmark struct {
	options
	lab     *lab.Lab
	fleet   *simulated.Fleet
	crew    *crew.Crew
	store   *storeInfo
	machine scale.Machine
	manager *managerOf // the one that runs; nil before the first way
}

func bench(ctx context.Context, o options) error {
	if err := raiseFiles(o.workers); err != nil {
		return err
	}
	b := &benchmark{options: o, machine: machine()}
	l, err := lab.New(ctx, testbed.Options{Args: map[string][]string{
		"kube-controller-manager": {"--node-monitor-grace-period=24h"}, // simulated nodes renew no leases here
	}}, os.Stderr)
	if err != nil {
		return err
	}
	defer l.Close()
	b.lab = l
	b.store = newStoreInfo(l.Cluster.RedisAddress())
	defer b.store.Close()
	if err := b.install(ctx); err != nil {
		return err
	}
	defer func() { _ = l.RemoveWebhooks(context.WithoutCancel(ctx)) }()
	if err := b.simulate(ctx); err != nil {
		return err
	}
	defer b.crew.Close()
	defer b.fleet.Close()
	return b.playAll(ctx)
}

// install starts our orchestrator. A manager comes with the way that asks for it.
func (b *benchmark) install(ctx context.Context) error {
	l := b.lab
	if err := l.DefineJobSets(ctx); err != nil {
		return err
	}
	if err := l.Namespace(ctx, namespace); err != nil {
		return err
	}
	orchestrator := testbed.Program{
		Name: orchestratorName,
		Command: []string{
			l.File("bin", "orchestrator"), "--kubeconfig=" + l.Cluster.KubeconfigPath(), "--health-probe-bind-address=" + orchestratorHealth,
			"--metrics-bind-address=" + orchestratorMetrics, "--metrics-secure=false", "--pprof-bind-address=" + orchestratorProfile,
			"--valkey-address=" + l.Cluster.RedisAddress(), "--leader-election-namespace=kube-system", "--leader-election-lease-duration=" + l.OrchestratorLease.String(),
		},
		Ready: lab.Healthy(orchestratorHealth),
	}
	return l.Cluster.StartProgram(ctx, orchestrator)
}

// sharedFrom is the number of workers from which agents share connections for calls, because this process and the store may not
// open files enough: two for each agent, and 20,000 is the limit on the development machines.
const (
	sharedFrom = 9000
	share      = 100
)

func (b *benchmark) simulate(ctx context.Context) (err error) {
	k := kubelets[b.kubelet]
	o := crew.Options{Address: b.lab.Cluster.RedisAddress(), Timing: k.timing}
	if b.workers >= sharedFrom {
		o.Share = share
	}
	b.crew = crew.New(o)
	began := time.Now()
	b.fleet, err = b.lab.Cluster.Simulate(ctx, simulated.Options{
		Name: "scale", Nodes: b.workers, Pools: pools, Heartbeat: -1, Rules: &k.rules, Observe: b.crew.Observe, Ended: b.crew.Ended,
	})
	if err != nil {
		return err
	}
	b.crew.Attach(b.fleet)
	fmt.Fprintf(os.Stderr, "%d nodes in %.1f s\n", b.workers, time.Since(began).Seconds())
	return nil
}
