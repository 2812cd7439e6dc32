// Command capacity measures the JobSet manager and the orchestrator with up to 50,000 running pods of JobSets with in-place restarts: memory,
// CPU time and API calls, both when idle and during a start with all objects. It creates the pods itself, and joins their groups for them. It
// writes all values to e2e/results/capacity.json, and generates the page docs/benchmarks/capacity.md. It is not a test: no measured value makes
// it fail. The pods remain until the testbed is taken down.
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
)

type options struct {
	sizes         []int // total numbers of pods, in ascending order
	jobs, pods    int   // Jobs of a JobSet, and pods of a Job
	results, page string
}

// workers returns the number of workers of a JobSet.
func (o options) workers() int { return o.jobs * o.pods }

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	o, err := parse(os.Args[1:])
	if err == nil {
		err = run(ctx, o)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench-capacity:", err)
		os.Exit(1)
	}
}

func parse(args []string) (options, error) {
	var o options
	flags := flag.NewFlagSet("bench-capacity", flag.ExitOnError)
	sizes := flags.String("pods", "10000,50000", "total numbers of pods, in ascending order, separated by commas; multiples of the workers of a JobSet")
	flags.IntVar(&o.jobs, "jobs", 10, "Jobs of each JobSet")
	flags.IntVar(&o.pods, "pods-per-job", 100, "pods of each Job")
	flags.StringVar(&o.results, "results", "e2e/results/capacity.json", "file for all values, below the repository's root")
	flags.StringVar(&o.page, "page", "docs/benchmarks/capacity.md", "file for the page, below the repository's root")
	_ = flags.Parse(args)
	last := 0
	for text := range strings.SplitSeq(*sizes, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n <= last || n%o.workers() != 0 {
			return o, fmt.Errorf("--pods %q: want multiples of %d in ascending order", *sizes, o.workers())
		}
		o.sizes, last = append(o.sizes, n), n
	}
	return o, nil
}
