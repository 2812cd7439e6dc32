// Command bench-appwrapper runs many AppWrappers on simulated nodes against a real control plane: from nothing to all running, then many
// failures at once. It prints times, CPU, memory and API calls of the controller, and writes all values to e2e/results/appwrapper.json and
// the page docs/benchmarks/appwrapper.md. It is no test: nothing here passes or fails by time.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/holdfast-project/holdfast/appwrapper-controller/api/v1beta2"
	"github.com/holdfast-project/holdfast/e2e/lab"
	"github.com/holdfast-project/holdfast/e2e/simulated"
	"github.com/holdfast-project/holdfast/e2e/testbed"
)

// manager is the program under measurement.
const manager = "bench-appwrapper-manager"

type options struct {
	workloads, pods, failures, nodes int
}

func main() {
	var o options
	flag.IntVar(&o.workloads, "workloads", 500, "AppWrappers, each around one Job")
	flag.IntVar(&o.pods, "pods", 2, "pods of each Job")
	flag.IntVar(&o.failures, "failures", 50, "AppWrappers that fail at once")
	flag.IntVar(&o.nodes, "nodes", 20, "simulated nodes")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "bench-appwrapper:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) error {
	l, err := lab.New(ctx, testbed.Options{}, os.Stderr)
	if err != nil {
		return err
	}
	defer l.Close()
	b, err := prepare(ctx, l, o)
	if err != nil {
		return err
	}
	rules := simulated.KubeletRules()
	fleet, err := l.Cluster.Simulate(ctx, simulated.Options{Name: "bench", Nodes: o.nodes, Rules: &rules})
	if err != nil {
		return err
	}
	b.fleet = fleet
	phases, err := b.measure(ctx)
	if err == nil {
		err = b.report(phases)
	}
	return joined(err, b.clean())
}

// prepare installs the definition and starts the controller.
func prepare(ctx context.Context, l *lab.Lab, o options) (*bench, error) {
	k8s, err := l.ClientFor(v1beta2.AddToScheme)
	if err != nil {
		return nil, err
	}
	b := &bench{options: o, lab: l, client: k8s}
	if err := l.DefineAppWrappers(ctx); err != nil {
		return nil, err
	}
	if err := l.Namespace(ctx, namespace); err != nil {
		return nil, err
	}
	return b, l.StartManaged(ctx, lab.Managed{
		Name: manager, Binary: lab.AppWrappers, Health: "0",
		Arguments: []string{"--metrics-bind-address=" + metricsAddress, "--metrics-secure=false"},
		Ready:     func(ctx context.Context) error { _, err := lab.UsageAt(ctx, metricsAddress); return err },
	})
}
