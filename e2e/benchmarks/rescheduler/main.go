// Command rescheduler measures the time from a kubelet's rejection of a pod until its replacement is assigned to
// another node: for one pod at a time, and for many that one bad node rejects at once. The API server, the controller
// manager and the scheduler are real; nodes are simulated. It prints a table and writes e2e/results/rescheduler.json.
// It is not a test: no measured time makes it fail.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/holdfast-project/holdfast/e2e/framework/footprint"
)

type options struct {
	root, binaries       string
	samples, pods, nodes int
	report               string
}

func main() {
	cache, _ := os.UserCacheDir() // if there is none, -binaries is required
	var o options
	flag.StringVar(&o.root, "root", ".", "folder of the repository")
	flag.StringVar(&o.binaries, "binaries", filepath.Join(cache, "holdfast", "bin"), "folder with kube-apiserver, kube-controller-manager and kube-scheduler")
	flag.IntVar(&o.samples, "samples", 20, "pods that are rejected one after the other")
	flag.IntVar(&o.pods, "pods", 500, "pods that are rejected at once")
	flag.IntVar(&o.nodes, "nodes", 20, "good nodes")
	flag.StringVar(&o.report, "report", "", "write the table into this file too")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "bench-rescheduler:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) error {
	c, err := start(ctx, o)
	if c != nil {
		defer c.stop()
	}
	if err != nil {
		return err
	}
	results, err := measure(ctx, o, c)
	if err != nil {
		return err
	}
	memory, err := footprint.Peak(c.manager())
	if err != nil {
		return err
	}
	table := tableOf(o, results, memory)
	fmt.Print(table)
	return save(o, results, table)
}
