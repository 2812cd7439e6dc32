// Command restart measures, on the real node, the time from killing one worker until the last worker's program runs
// again, for every recovery mode in one run. It measures three failures of a fresh group. The second one follows half a
// minute after the first, so that the kubelet's back-off applies. The third is the deletion of a worker's pod, to which
// the Job controller's back-off applies. It prints a page with medians, or writes it to a file, and writes all values
// to e2e/results/restart.json. It is not a test: no measured time makes it fail.
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
	"time"

	"github.com/holdfast-project/holdfast/e2e/framework"
	"github.com/holdfast-project/holdfast/e2e/framework/recovery"
	"github.com/holdfast-project/holdfast/e2e/testbed"
)

type options struct {
	groups int           // fresh groups for each row
	pause  time.Duration // between the first and the second failure
	period time.Duration // maximum of the kubelet's back-off; 0: the kubelet's default
	sizes  []int
	report string // the page to write; empty: print it
	only   string // part of a mode's name; empty: all
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	o, err := parse(os.Args[1:])
	if err == nil {
		err = bench(ctx, o)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench-restart:", err)
		os.Exit(1)
	}
}

func parse(args []string) (options, error) {
	var o options
	flags := flag.NewFlagSet("bench-restart", flag.ExitOnError)
	flags.IntVar(&o.groups, "groups", 3, "fresh groups for each row")
	flags.DurationVar(&o.pause, "pause", 30*time.Second, "pause between the first and the second failure")
	flags.DurationVar(&o.period, "kubelet-restart-period", 0, "maximum of the kubelet's back-off (0: the kubelet's default)")
	flags.StringVar(&o.only, "only", "", "measure only the recovery modes whose names contain this text")
	flags.StringVar(&o.report, "report", "", "file for the page; if empty, the page is printed")
	sizes := flags.String("workers", "8,32", "sizes of the group")
	_ = flags.Parse(args)
	for _, text := range strings.Split(*sizes, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 2 {
			return o, fmt.Errorf("--workers %q: want sizes of 2 or more, separated by commas", *sizes)
		}
		o.sizes = append(o.sizes, n)
	}
	return o, nil
}

func bench(ctx context.Context, o options) error {
	env, err := framework.New(ctx, testbed.Options{Nodes: recovery.SpareNode, KubeletRestartPeriod: o.period}, os.Stderr)
	if err != nil {
		return err
	}
	defer env.Close()
	if err := env.Install(ctx); err != nil {
		return err
	}
	if err := env.Cordon(ctx, recovery.SpareNode, true); err != nil {
		return err
	}
	rows, err := measureAll(ctx, env, o)
	if err != nil {
		return err
	}
	if err := save(env.File("e2e", "results"), rows); err != nil {
		return err
	}
	if o.report == "" {
		fmt.Print(page(rows, o))
		return nil
	}
	return os.WriteFile(o.report, []byte(page(rows, o)), 0o644)
}
