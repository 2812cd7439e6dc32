package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
)

// median of one figure over the rounds.
func (s *series) median(figure func(sample) float64) float64 {
	values := make([]float64, len(s.Samples))
	for i, sample := range s.Samples {
		values[i] = figure(sample)
	}
	slices.Sort(values)
	if n := len(values); n%2 == 0 && n > 0 {
		return (values[n/2-1] + values[n/2]) / 2
	} else if n > 0 {
		return values[n/2]
	}
	return 0
}

// figures of a table, in the order of its columns. The first two are also given as a ratio to the plugin off.
var figures = []func(sample) float64{
	func(s sample) float64 { return s.PodsPerSecond },
	func(s sample) float64 { return s.Algorithm },
	func(s sample) float64 { return s.CPU },
	func(s sample) float64 { return s.Allocated },
	func(s sample) float64 { return 100 * s.Batched },
}

// printTables writes one table for each cluster and shape; the first variant of each is what the others are compared with.
func printTables(w io.Writer, o options, measured []*series) {
	for i, s := range measured {
		first := measured[i-i%len(variants)]
		if s == first {
			fmt.Fprintf(w, "\n## %d nodes, %s\n\n", s.Nodes, s.Shape)
			fmt.Fprintln(w, "| variant | pods/s | x | algorithm, ms for a pod | x | CPU, ms for a pod | allocated, KiB for a pod | batched |")
			fmt.Fprintln(w, "|---|---|---|---|---|---|---|---|")
		}
		v := make([]float64, len(figures))
		for j, figure := range figures {
			v[j] = s.median(figure)
		}
		fmt.Fprintf(w, "| %s | %.0f | %.2f | %.3f | %.2f | %.2f | %.0f | %.0f %% |\n", s.Variant,
			v[0], v[0]/first.median(figures[0]), v[1], v[1]/first.median(figures[1]), v[2], v[3], v[4])
	}
}

const introduction = `# What the scheduler plugin costs

Written by ` + "`make bench-rescheduler-scheduler`" + `. kube-scheduler 1.36 with and without PodRescheduling schedules %d pods (half as many of the second shape) that are waiting for it, on nodes
that exist in the API server only. API server and etcd are real and share the machine's %d cores with the scheduler, so pods per second are mostly theirs. The
algorithm is what the scheduler itself measures, from taking a pod out of its queue until a node is chosen: that is where the plugin works. CPU and
memory are those of the scheduler's process, its caches and clients included.

All variants take turns in each of %d rounds of one run; the figures are medians, x is the ratio to the plugin off. A pod with exclusions stays
away from %d nodes, chosen for each pod by chance unless all have the same. The scheduler batches pods only if they fill a node each and are not
spread by default, which is the second shape; pods with different exclusions cannot share a result.
`

func save(o options, measured []*series) error {
	if err := os.MkdirAll(o.results, 0o755); err != nil {
		return fmt.Errorf("saving the results: %w", err)
	}
	content, err := json.MarshalIndent(map[string]any{"pods": o.pods, "rounds": o.rounds, "excluded": o.excluded, "series": measured}, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(o.results, "rescheduler-scheduler.json"), append(content, '\n'), 0o644); err != nil {
		return err
	}
	if o.report == "" {
		return nil
	}
	page := &bytes.Buffer{}
	fmt.Fprintf(page, introduction, o.pods, runtime.NumCPU(), o.rounds, o.excluded)
	printTables(page, o, measured)
	return os.WriteFile(o.report, page.Bytes(), 0o644)
}
