// Command appwrapper runs many AppWrappers on simulated nodes against a real control plane, from creation to running,
// and then causes many simultaneous failures. After that it runs AppWrappers whose pods it creates itself, up to 50,000
// pods, to measure memory and API calls at rest. It prints times, CPU, memory and API calls of the controller. It
// writes all values to e2e/results/appwrapper.json, and generates the page docs/benchmarks/appwrapper.md. It is not a
// test: no measured time makes it fail. The pods that it creates remain until the testbed is taken down.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"

	"github.com/holdfast-project/holdfast/appwrapper-controller/api/v1beta2"
	"github.com/holdfast-project/holdfast/e2e/fakes/kubelet"
	"github.com/holdfast-project/holdfast/e2e/framework"
	"github.com/holdfast-project/holdfast/e2e/testbed"
)

// manager is the name of the measured program.
const manager = "bench-appwrapper-manager"

type options struct {
	workloads, pods, failures, nodes int
	sizes                            []int // numbers of AppWrappers whose pods the benchmark creates
	played                           int   // pods per AppWrapper
}

func main() {
	var o options
	flag.IntVar(&o.workloads, "workloads", 500, "AppWrappers, each around one Job")
	flag.IntVar(&o.pods, "pods", 2, "pods of each Job")
	flag.IntVar(&o.failures, "failures", 50, "AppWrappers that fail at once")
	flag.IntVar(&o.nodes, "nodes", 20, "simulated nodes")
	flag.IntVar(&o.played, "played-pods", 10, "pods of each Job whose pods the benchmark creates itself")
	sizes := flag.String("sizes", "1000,5000", "numbers of AppWrappers around such Jobs, in ascending order, separated by commas")
	flag.Parse()
	for text := range strings.SplitSeq(*sizes, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			fmt.Fprintf(os.Stderr, "bench-appwrapper: --sizes %q: want a list such as 1000,5000\n", *sizes)
			os.Exit(2)
		}
		o.sizes = append(o.sizes, n)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "bench-appwrapper:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) error {
	env, err := framework.New(ctx, testbed.Options{Args: map[string][]string{
		"kube-controller-manager": {"--node-monitor-grace-period=24h"}, // these pods' nodes do not renew their leases
	}}, os.Stderr)
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
	if err = joined(err, b.clean()); err != nil {
		return err
	}
	if err := b.startManager(ctx); err != nil { // start afresh, so that the measured memory contains nothing from earlier phases
		return err
	}
	sizes, err := b.measurePlayed(ctx)
	return joined(err, b.report(phases, sizes), b.env.Cluster.StopProgram(ctx, manager))
}

// prepare applies the CRD and starts the controller.
func prepare(ctx context.Context, env *framework.Environment, o options) (*bench, error) {
	k8s, err := env.ClientFor(v1beta2.AddToScheme)
	if err != nil {
		return nil, err
	}
	b := &bench{options: o, env: env, client: k8s}
	if err := env.DefineAppWrappers(ctx); err != nil {
		return nil, err
	}
	if err := env.Namespace(ctx, namespace); err != nil {
		return nil, err
	}
	return b, b.startManager(ctx)
}

func (b *bench) startManager(ctx context.Context) error {
	return b.env.StartManaged(ctx, framework.Managed{
		Name: manager, Binary: framework.AppWrappers, Health: "0",
		Arguments: []string{"--metrics-bind-address=" + metricsAddress, "--metrics-secure=false", b.env.WithoutWebhook()},
		Ready:     func(ctx context.Context) error { _, err := framework.UsageAt(ctx, metricsAddress); return err },
	})
}
