// Command scale makes workers of large JobSets fail on the testbed's real control plane and store. It recovers them in
// each of these ways: Recreate, BlockingRecreate, in place with the CRI driver and with the exec driver, and Recreate
// by the upstream JobSet controller. Nodes, kubelets and processes are simulated. Agents, store, orchestrator and
// manager are real. It measures the time until all workers run again, its phases, and what all programs used. It adds
// the results to docs/benchmarks/scale/results.json, and generates the page docs/benchmarks/scale.md from that file. It
// is not a test: no measured time makes it fail.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/holdfast-project/holdfast/e2e/benchmarks/scale/results"
	"github.com/holdfast-project/holdfast/e2e/testbed/binaries"
)

type options struct {
	workers   int
	ways      []string
	scenarios []string
	runs      int
	add       bool
	kubelet   string
	failures  int
	pace      time.Duration
	within    time.Duration
	steady    time.Duration
	many      string
	manyFor   time.Duration
	profiles  string
	results   string
	page      string
	pageOnly  bool
}

// waysByFlag maps values of the flag to ways to recover.
var waysByFlag = map[string]string{
	"recreate": results.Recreate, "published": results.Published, "blocking": results.Blocking, "cri": results.CRI, "exec": results.Exec,
	"spares": results.Spares, "inplacerestart": results.Upstream,
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	o, err := parse(os.Args[1:])
	if err == nil {
		err = run(ctx, o)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench-scale:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) error {
	root, err := binaries.Root()
	if err != nil {
		return err
	}
	if o.pageOnly {
		return writePage(root, o)
	}
	return errors.Join(bench(ctx, o), writePage(root, o)) // keep the measurements even after an error
}

func parse(args []string) (options, error) {
	var o options
	flags := flag.NewFlagSet("bench-scale", flag.ExitOnError)
	flags.IntVar(&o.workers, "workers", 500, "workers of the JobSet, one on each node; a multiple of 5")
	ways := flags.String("ways", "exec,cri,recreate,blocking,published,inplacerestart", "ways to recover, in this order; also published: Recreate by the upstream JobSet controller, inplacerestart: its InPlaceRestart, and spares: exec with two spares")
	scenarios := flags.String("scenarios", "failure,pod,steady", "scenarios to measure: failure, pod, ten (killed at once), rack (100 pods deleted at once), pod-alone and rack-alone (the same with kube-controller-manager at the lowest priority), repeat, steady, many")
	flags.IntVar(&o.runs, "runs", 5, "failures of each kind")
	flags.BoolVar(&o.add, "add", false, "add the runs to existing ones instead of replacing them")
	flags.StringVar(&o.kubelet, "kubelet", kubeletDefault, "how kubelets restart containers: default, period-1s (crashLoopBackOff.maxContainerRestartPeriod), evented (EventedPLEG)")
	flags.IntVar(&o.failures, "repeat", 10, "failures of the scenario repeat, in one group")
	flags.DurationVar(&o.pace, "repeat-pace", 50*time.Second, "pause between the failures of the scenario repeat; all should occur within ten minutes")
	flags.DurationVar(&o.within, "repeat-within", 10*time.Minute, "time limit after the first failure of the scenario repeat; later failures are skipped")
	flags.DurationVar(&o.steady, "steady", 5*time.Minute, "length of the scenario steady")
	flags.StringVar(&o.many, "many", "200x25", "JobSets x workers of the scenario many")
	flags.DurationVar(&o.manyFor, "many-for", time.Minute, "length of the scenario many, with a failure every second")
	flags.StringVar(&o.profiles, "profiles", "", "folder for CPU profiles of our programs during each failure")
	flags.StringVar(&o.results, "results", "docs/benchmarks/scale/results.json", "file to which results are added, below the repository's root")
	flags.StringVar(&o.page, "page", "docs/benchmarks/scale.md", "the page; its plots are in a folder alongside it")
	flags.BoolVar(&o.pageOnly, "page-only", false, "measure nothing; generate the page from the existing results")
	_ = flags.Parse(args)
	for name := range strings.SplitSeq(*ways, ",") {
		way, known := waysByFlag[name]
		if !known {
			return o, fmt.Errorf("--ways %q: unknown way %q", *ways, name)
		}
		o.ways = append(o.ways, way)
	}
	o.scenarios = strings.Split(*scenarios, ",")
	for _, s := range o.scenarios {
		if !slices.Contains([]string{results.Failure, results.Pod, results.PodAlone, results.Ten, results.Rack, results.RackAlone, results.Repeat, results.Steady, results.Many}, s) {
			return o, fmt.Errorf("--scenarios %q: unknown scenario %q", *scenarios, s)
		}
	}
	if o.workers < pools || o.workers%pools != 0 {
		return o, fmt.Errorf("--workers %d: want a multiple of %d, the node pools", o.workers, pools)
	}
	if _, ok := kubelets[o.kubelet]; !ok {
		return o, fmt.Errorf("--kubelet %q: want default, period-1s or evented", o.kubelet)
	}
	_, _, err := shapeOf(o.many)
	return o, err
}

// shapeOf parses a text such as 200x25.
func shapeOf(text string) (jobSets, workers int, err error) {
	if _, err := fmt.Sscanf(text, "%dx%d", &jobSets, &workers); err != nil || jobSets < 1 || workers < 2 {
		return 0, 0, fmt.Errorf("--many %q: want a value such as 200x25", text)
	}
	return jobSets, workers, nil
}
