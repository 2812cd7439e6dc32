// Command bench-throughput measures what PodRescheduling costs kube-scheduler: pods scheduled per second on simulated nodes, against a real
// API server and etcd, with the plugin off, on, and with an increasing share of pods that have exclusions. Each round runs all variants, so
// that their ratios come from the same run. The command prints a table, writes e2e/results/rescheduler-scheduler.json and, on request, the
// page docs/benchmarks/rescheduler-scheduler.md. It is not a test: it does not fail on any measured time.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"

	"k8s.io/klog/v2"

	"github.com/holdfast-project/holdfast/rescheduler/scheduler/internal/testing/apiserver"
)

type options struct {
	nodes           []int
	pods, rounds    int
	excluded        int
	results, report string
}

func main() {
	o := options{}
	sizes := flag.String("nodes", "1000,5000", "numbers of nodes, ascending")
	flag.IntVar(&o.pods, "pods", 1000, "number of pods in each measurement")
	flag.IntVar(&o.rounds, "rounds", 5, "number of measurements of each variant, after a warm-up")
	flag.IntVar(&o.excluded, "excluded", 10, "number of nodes that a pod with exclusions avoids")
	flag.StringVar(&o.results, "results", "e2e/results", "folder for the JSON")
	flag.StringVar(&o.report, "report", "", "page to write, for example docs/benchmarks/rescheduler-scheduler.md")
	flag.Parse()
	silence()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, o, *sizes); err != nil {
		fmt.Fprintln(os.Stderr, "bench-throughput:", err)
		os.Exit(1)
	}
}

// silence turns off the scheduler's log. On every shutdown the scheduler reports that it could not write its last events.
func silence() {
	logging := flag.NewFlagSet("logging", flag.PanicOnError)
	klog.InitFlags(logging)
	for name, value := range map[string]string{"logtostderr": "false", "stderrthreshold": "FATAL"} {
		if err := logging.Set(name, value); err != nil {
			panic(err)
		}
	}
	klog.SetOutput(io.Discard)
}

func run(ctx context.Context, o options, sizes string) (err error) {
	for _, text := range strings.Split(sizes, ",") {
		nodes, err := strconv.Atoi(text)
		if err != nil || nodes < o.pods || nodes <= o.excluded {
			return fmt.Errorf("--nodes %q: want sizes of %d, the number of pods, and more, separated by commas", sizes, o.pods)
		}
		o.nodes = append(o.nodes, nodes)
	}
	config, end, err := apiserver.Start()
	if err != nil {
		return err
	}
	defer func() {
		if ended := end(); err == nil {
			err = ended
		}
	}()
	b, err := newBench(config, o)
	if err != nil {
		return err
	}
	measured, err := b.measure(ctx)
	if err != nil {
		return err
	}
	printTables(os.Stdout, measured)
	return save(o, measured)
}
