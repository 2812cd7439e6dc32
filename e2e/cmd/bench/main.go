// Command bench measures, on the real node, the time from the kill of one worker until the last worker's program runs
// again: the first failure of a fresh group, and a second one half a minute later, which is what the kubelet's back-off
// punishes. It prints a table of medians and writes all values to e2e/results/restart.json. It is no test: nothing here
// passes or fails by time.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/holdfast-project/holdfast/e2e/lab"
	"github.com/holdfast-project/holdfast/e2e/testbed"
)

// run is one measured group.
type run struct {
	System  string  `json:"system"`
	Workers int     `json:"workers"`
	First   float64 `json:"firstSeconds"`
	Second  float64 `json:"secondSeconds"`
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	groups := flag.Int("groups", 3, "fresh groups for each row")
	pause := flag.Duration("pause", 30*time.Second, "between the first and the second failure")
	period := flag.Duration("kubelet-restart-period", 0, "ceiling of the kubelet's back-off (0: the kubelet's own)")
	flag.Parse()
	if err := bench(ctx, *groups, *pause, *period); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func bench(ctx context.Context, groups int, pause, period time.Duration) error {
	l, err := lab.New(ctx, testbed.Options{KubeletRestartPeriod: period}, os.Stderr)
	if err != nil {
		return err
	}
	defer l.Close()
	if err := l.Install(ctx); err != nil {
		return err
	}
	var runs []run
	for _, workers := range []int{8, 32} {
		for _, s := range systems {
			for range groups {
				r, err := measure(ctx, l, s, workers, pause)
				if err != nil {
					return fmt.Errorf("%s with %d workers: %w", s.name, workers, err)
				}
				fmt.Fprintf(os.Stderr, "%-40s %3d workers: %.2f s, then %.2f s\n", r.System, r.Workers, r.First, r.Second)
				runs = append(runs, r)
			}
		}
	}
	printTable(runs, pause, period)
	return save(l.File("e2e", "results"), runs)
}

func printTable(runs []run, pause, period time.Duration) {
	kubelet := "the kubelet's defaults"
	if period > 0 {
		kubelet = "a kubelet restart period of " + period.String()
	}
	fmt.Printf("\nseconds from kill -9 of one worker until all run again; medians; %s; the second failure %s after the first\n\n",
		kubelet, pause)
	fmt.Printf("| %-40s | workers | groups | first | second |\n|---|---|---|---|---|\n", "system")
	for len(runs) > 0 {
		same := slices.IndexFunc(runs, func(r run) bool { return r.System != runs[0].System || r.Workers != runs[0].Workers })
		if same < 0 {
			same = len(runs)
		}
		row := runs[:same]
		fmt.Printf("| %-40s | %7d | %6d | %5.2f | %6.2f |\n", row[0].System, row[0].Workers, len(row),
			median(row, func(r run) float64 { return r.First }), median(row, func(r run) float64 { return r.Second }))
		runs = runs[same:]
	}
}

func median(runs []run, of func(run) float64) float64 {
	values := make([]float64, len(runs))
	for i, r := range runs {
		values[i] = of(r)
	}
	slices.Sort(values)
	return (values[(len(values)-1)/2] + values[len(values)/2]) / 2
}

func save(dir string, runs []run) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("saving the results: %w", err)
	}
	content, err := json.MarshalIndent(runs, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(dir+"/restart.json", append(content, '\n'), 0o644)
}
