// Command elastic runs one ElasticJob with many workers on simulated nodes against a real control plane, from creation
// to running, and then loses many workers at the same time. It prints times, CPU, memory and API calls of the operator,
// and writes them to e2e/results/elastic.json. It is not a test: no measured time makes it fail.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/holdfast-project/holdfast/e2e/fakes/kubelet"
	"github.com/holdfast-project/holdfast/e2e/framework"
	"github.com/holdfast-project/holdfast/e2e/testbed"
	"github.com/holdfast-project/holdfast/elastic-operator/api/v1alpha1"
)

const (
	manager       = "bench-elastic-manager"
	healthAddress = "127.0.0.1:18085"
)

type options struct {
	workers, losses, nodes int
}

func main() {
	var o options
	flag.IntVar(&o.workers, "workers", 500, "workers of the job")
	flag.IntVar(&o.losses, "losses", 50, "workers that are lost at once")
	flag.IntVar(&o.nodes, "nodes", 20, "simulated nodes")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "bench-elastic:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) error {
	env, err := framework.New(ctx, testbed.Options{}, os.Stderr)
	if err != nil {
		return err
	}
	defer env.Close()
	b, err := prepare(ctx, env, o)
	if err != nil {
		return err
	}
	rules := kubelet.KubeletRules()
	simulation, err := env.Cluster.Simulate(ctx, kubelet.Options{Name: "bench", Nodes: o.nodes, Rules: &rules})
	if err != nil {
		return err
	}
	b.simulation = simulation
	phases, err := b.measure(ctx)
	if err == nil {
		printTable(os.Stdout, o, phases)
		err = save(env.File("e2e", "results"), o, phases)
	}
	return errors.Join(err, b.clean())
}

// prepare applies the CRD and starts the operator.
func prepare(ctx context.Context, env *framework.Environment, o options) (*bench, error) {
	k8s, err := env.ClientFor(v1alpha1.AddToScheme)
	if err != nil {
		return nil, err
	}
	if err := env.DefineElasticJobs(ctx); err != nil {
		return nil, err
	}
	if err := env.Namespace(ctx, namespace); err != nil {
		return nil, err
	}
	return &bench{options: o, env: env, client: k8s}, env.StartManaged(ctx, framework.Managed{
		Name: manager, Binary: framework.ElasticJobs, Health: healthAddress,
		Arguments: []string{"--metrics-bind-address=" + metricsAddress, "--metrics-secure=false"},
	})
}
