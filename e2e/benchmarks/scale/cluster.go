package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/holdfast-project/holdfast/e2e/benchmarks/scale/results"
	"github.com/holdfast-project/holdfast/e2e/fakes/agent"
	"github.com/holdfast-project/holdfast/e2e/fakes/kubelet"
	"github.com/holdfast-project/holdfast/e2e/fakes/members"
	"github.com/holdfast-project/holdfast/e2e/framework"
	"github.com/holdfast-project/holdfast/e2e/testbed"
)

const (
	namespace = "bench-scale"
	// pools is the number of node pools, one for each Job.
	pools = 5

	orchestratorName                        = "jobset-orchestrator"
	orchestratorHealth, orchestratorMetrics = "127.0.0.1:18864", "127.0.0.1:18865"
	orchestratorProfile                     = "127.0.0.1:18866"
)

// benchmark is one invocation.
type benchmark struct {
	options
	env        *framework.Environment
	simulation *kubelet.Nodes
	agents     *agent.Agents
	store      *members.Server
	folder     string // for the passwords of the store's users
	machine    results.Machine
	manager    *managerOf // the running manager; nil before the first way
}

func bench(ctx context.Context, o options) error {
	if err := raiseFiles(o.workers); err != nil {
		return err
	}
	b := &benchmark{options: o, machine: machine()}
	env, err := framework.New(ctx, testbed.Options{Args: map[string][]string{
		"kube-controller-manager": {"--node-monitor-grace-period=24h"}, // simulated nodes do not renew their leases here
	}}, os.Stderr)
	if err != nil {
		return err
	}
	defer env.Close()
	b.env = env
	if err := b.startStore(ctx); err != nil {
		return err
	}
	defer b.store.Stop()
	if b.folder, err = os.MkdirTemp("", "bench-scale"); err != nil {
		return err
	}
	defer os.RemoveAll(b.folder)
	if err := b.install(ctx); err != nil {
		return err
	}
	defer func() { _ = env.RemoveWebhooks(context.WithoutCancel(ctx)) }()
	if err := b.simulate(ctx); err != nil {
		return err
	}
	defer b.agents.Close()
	defer b.simulation.Close()
	return b.playAll(ctx)
}

// install starts our orchestrator. manage starts the manager that each way needs.
func (b *benchmark) install(ctx context.Context) error {
	env := b.env
	if err := env.DefineJobSets(ctx); err != nil {
		return err
	}
	if err := env.Namespace(ctx, namespace); err != nil {
		return err
	}
	orchestrator := testbed.Program{
		Name: orchestratorName,
		Command: append([]string{
			env.File("bin", "orchestrator"), "--kubeconfig=" + env.Cluster.KubeconfigPath(), "--health-probe-bind-address=" + orchestratorHealth,
			"--metrics-bind-address=" + orchestratorMetrics, "--metrics-secure=false", "--pprof-bind-address=" + orchestratorProfile,
			"--leader-election-namespace=kube-system", "--leader-election-lease-duration=" + env.OrchestratorLease.String(),
		}, b.store.OrchestratorArguments()...),
		Ready: framework.Healthy(orchestratorHealth),
	}
	return env.Cluster.StartProgram(ctx, orchestrator)
}

// sharedFrom is the number of workers from which agents share connections for calls. Otherwise this process and the
// store would exceed the limit on open files, which is 20,000 on the development machines. Each agent needs two.
const (
	sharedFrom = 9000
	share      = 100
)

func (b *benchmark) simulate(ctx context.Context) (err error) {
	k := kubelets[b.kubelet]
	o := agent.Options{Store: b.reach, Timing: k.timing, Client: b.env.Client}
	if b.workers >= sharedFrom {
		o.Share = share
	}
	b.agents = agent.New(o)
	began := time.Now()
	b.simulation, err = b.env.Cluster.Simulate(ctx, kubelet.Options{
		Name: "scale", Nodes: b.nodes(), Pools: pools, Heartbeat: -1, Rules: &k.rules, Observe: b.agents.Observe, Ended: b.agents.Ended,
	})
	if err != nil {
		return err
	}
	b.agents.Attach(b.simulation)
	fmt.Fprintf(os.Stderr, "%d nodes in %.1f s\n", b.nodes(), time.Since(began).Seconds())
	return nil
}

// nodes returns one node for each worker, and one more in each pool for spares and for the pods that replace lost ones.
func (b *benchmark) nodes() int {
	if slices.Contains(b.ways, results.Spares) {
		return b.workers + pools
	}
	return b.workers
}
