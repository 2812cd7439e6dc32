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

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/appwrapper-controller/api/v1beta2"
	"github.com/holdfast-project/holdfast/e2e/lab"
	"github.com/holdfast-project/holdfast/e2e/simulated"
	"github.com/holdfast-project/holdfast/e2e/testbed"
)

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
	if err := l.Apply(ctx, "", l.File("appwrapper-controller", "config", "crd", "bases", "workload.codeflare.dev_appwrappers.yaml")); err != nil {
		return nil, err
	}
	if err := lab.Until(ctx, "the API server serves AppWrappers", func(ctx context.Context) error {
		return k8s.List(ctx, &v1beta2.AppWrapperList{}, client.Limit(1))
	}); err != nil {
		return nil, err
	}
	if err := l.Namespace(ctx, namespace); err != nil {
		return nil, err
	}
	return b, l.Cluster.StartProgram(ctx, testbed.Program{
		Name: "bench-appwrapper-manager",
		Command: []string{
			l.File("bin", "appwrapper-manager"), "--kubeconfig=" + l.Cluster.KubeconfigPath(), "--health-probe-bind-address=0",
			"--metrics-bind-address=" + metricsAddress, "--metrics-secure=false",
		},
		Ready: func(ctx context.Context) error { _, err := lab.UsageAt(ctx, metricsAddress); return err },
	})
}
