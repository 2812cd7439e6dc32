// Command jobset runs JobSets with many Jobs through the same steps with our JobSet manager and with the published one,
// one after the other on the same cluster. The JobSets are created, one Job fails, and the JobSets are restarted,
// suspended, resumed and deleted. Nodes and pods are simulated. The API server, the Job controller, the scheduler and
// the managers are real. For each phase it measures the time and what the manager used: CPU, memory, API calls and
// webhook calls. It prints tables, writes all values to e2e/results/jobset.json, and generates the page
// docs/benchmarks/jobset.md. It is not a test: no measured time makes it fail.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/holdfast-project/holdfast/e2e/fakes/kubelet"
	"github.com/holdfast-project/holdfast/e2e/framework"
	"github.com/holdfast-project/holdfast/e2e/testbed"
)

type options struct {
	shapes   []shape
	managers []string
	profiles string // folder for CPU profiles of our manager; empty: none
	growth   string // output of the Go benchmarks, for the page
	rounds   int
	add      bool // keep the results of an earlier run for other shapes
}

// shape is a number of JobSets, each with a number of Jobs of one pod.
type shape struct {
	JobSets int `json:"jobSets"`
	Jobs    int `json:"jobs"`
}

func (s shape) String() string { return fmt.Sprintf("%d x %d", s.JobSets, s.Jobs) }

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	o, err := parse(os.Args[1:])
	if err == nil {
		err = bench(ctx, o)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench-jobset:", err)
		os.Exit(1)
	}
}

func parse(args []string) (options, error) {
	var o options
	flags := flag.NewFlagSet("bench-jobset", flag.ExitOnError)
	shapes := flags.String("shapes", "1x1000,200x5", "JobSets x Jobs, separated by commas")
	managers := flags.String("managers", ours+","+published, "managers to measure, separated by commas")
	flags.StringVar(&o.profiles, "profiles", "", "folder for CPU profiles of each phase of our manager")
	flags.StringVar(&o.growth, "growth", "", "file with the output of the Go benchmarks, for the page")
	flags.IntVar(&o.rounds, "rounds", 1, "how often each shape is measured, with the managers taking turns")
	flags.BoolVar(&o.add, "add", false, "keep the results of an earlier run for other shapes")
	_ = flags.Parse(args)
	o.managers = strings.Split(*managers, ",")
	for text := range strings.SplitSeq(*shapes, ",") {
		var s shape
		if _, err := fmt.Sscanf(text, "%dx%d", &s.JobSets, &s.Jobs); err != nil || s.JobSets < 1 || s.Jobs < 1 {
			return o, fmt.Errorf("--shapes %q: want a list such as 1x1000,200x5", *shapes)
		}
		o.shapes = append(o.shapes, s)
	}
	return o, nil
}

// podsEach is the maximum number of pods per node.
const podsEach = 110

func bench(ctx context.Context, o options) error {
	env, err := framework.New(ctx, testbed.Options{Args: map[string][]string{
		"kube-controller-manager": {"--node-monitor-grace-period=24h"}, // simulated nodes do not renew their leases here
	}}, os.Stderr)
	if err != nil {
		return err
	}
	defer env.Close()
	if err := env.DefineJobSets(ctx); err != nil {
		return err
	}
	simulation, err := env.Cluster.Simulate(ctx, kubelet.Options{
		Name: "bench", Nodes: most(o.shapes)/podsEach*2 + 2, MaxPods: podsEach, Heartbeat: -1,
		Rules: &kubelet.Rules{StartDelay: 200 * time.Millisecond},
	})
	if err != nil {
		return err
	}
	defer func() { _ = simulation.Remove(context.WithoutCancel(ctx)) }()
	b := &benchmark{env: env, simulation: simulation, options: o}
	return errors.Join(b.playAll(ctx), b.readRequests(), b.report()) // keep the measurements even after an error
}

// playAll measures each shape in several rounds. In each round, the managers take turns and are freshly started.
func (b *benchmark) playAll(ctx context.Context) error {
	for _, s := range b.options.shapes {
		for round := range b.options.rounds {
			for _, name := range b.options.managers {
				if err := b.play(ctx, name, s, round); err != nil {
					return fmt.Errorf("%s, %s: %w", name, s, err)
				}
			}
		}
	}
	return nil
}

// most returns the largest number of simultaneous pods.
func most(shapes []shape) int {
	n := 0
	for _, s := range shapes {
		n = max(n, s.JobSets*s.Jobs)
	}
	return n
}
