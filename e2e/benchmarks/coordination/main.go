// Command coordination measures the cost of the protocol alone: thousands of members of one group in this process, a
// real redis-server with TLS, and worker programs that start immediately. It prints a table of medians over
// the rounds and writes all values to e2e/results/coordination.json. It is not a test: no measured time makes it fail.
//
// With -crowds, the members are in several processes, with the agent's timeouts, and the store has the chart's settings. The newest result
// of each kind is in e2e/results/coordination-crowds.json, and the tables show all of them. A group of 10,000 needs more
// open files than many systems permit; with CAP_SYS_RESOURCE, the program raises the limit.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	sizes := flag.String("members", "1000,5000,10000", "sizes of the group")
	crowds := flag.String("crowds", "", "instead of -members: sizes of groups whose members are in several processes, such as 5000s,5000rs,100000r; r: with relays, s: also restart the store")
	store := flag.String("store", "valkey-server", "program of the store with -crowds: valkey-server or redis-server")
	asChild := flag.Bool("child", false, "internal: run a part of such a group")
	driver := flag.String("driver", "exec", "driver of the members: exec (supervisors with a barrier) or cri (sidecars)")
	rounds := flag.Int("rounds", 10, "restarts to measure, after one that is not measured")
	results := flag.String("results", "e2e/results", "folder for the JSON")
	flag.Parse()
	var err error
	switch {
	case *asChild:
		err = serveParent(ctx, os.Stdin, os.Stdout)
	case *crowds != "":
		err = runCrowds(ctx, *crowds, *store, *rounds, *results)
	default:
		err = run(ctx, *sizes, *driver, *rounds, *results)
	}
	if err != nil {
		if ctx.Err() != nil {
			err = fmt.Errorf("interrupted (%w), which has also ended the processes of the members: %w", context.Cause(ctx), err)
		}
		fmt.Fprintln(os.Stderr, "bench-coordination:", err)
		os.Exit(1)
	}
}

func runCrowds(ctx context.Context, crowds, store string, rounds int, results string) error {
	if err := raiseFiles(); err != nil {
		return err
	}
	var all []crowdResult
	var failures []error
	for _, text := range strings.Split(crowds, ",") {
		size, err := strconv.Atoi(strings.TrimRight(text, "rs"))
		if err != nil || size < 2 {
			return fmt.Errorf("--crowds %q: want sizes of 2 or more, each optionally followed by r or s, separated by commas", crowds)
		}
		r, err := measureCrowd(ctx, store, size, strings.Contains(text, "r"), rounds, strings.Contains(text, "s"))
		if err != nil {
			failures = append(failures, fmt.Errorf("%s members: %w", text, err))
			fmt.Fprintln(os.Stderr, failures[len(failures)-1])
			if ctx.Err() != nil {
				break
			}
			continue // the other sizes are still measured
		}
		fmt.Fprintf(os.Stderr, "%s members: all know that all have joined after %v\n", text, r.Median.Start.Last)
		if all, err = keepCrowd(results, r); err != nil {
			return err
		}
	}
	printCrowds(os.Stdout, all)
	return errors.Join(failures...)
}

func run(ctx context.Context, sizes, driver string, rounds int, results string) error {
	if driver != "exec" && driver != "cri" {
		return fmt.Errorf("--driver %q: want exec or cri", driver)
	}
	var all []result
	for _, text := range strings.Split(sizes, ",") {
		members, err := strconv.Atoi(text)
		if err != nil || members < 2 {
			return fmt.Errorf("--members %q: want sizes of 2 or more, separated by commas", sizes)
		}
		r, err := measure(ctx, members, driver, rounds)
		if err != nil {
			return fmt.Errorf("%d members: %w", members, err)
		}
		fmt.Fprintf(os.Stderr, "%d members: order p99 %v, all joined %v\n", members, r.Median.Order.P99, r.Median.Join.Last)
		all = append(all, r)
	}
	printTable(os.Stdout, all)
	return save(results, "coordination.json", all)
}
