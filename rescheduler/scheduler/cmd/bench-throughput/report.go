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
	"strings"
)

// median returns the median of one figure over the rounds.
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

// figure describes two columns of a table: a median, and its ratio to the median with the plugin off.
type figure struct {
	title, format string
	of            func(sample) float64
}

var figures = []figure{
	{"pods/s", "%.0f", func(s sample) float64 { return s.PodsPerSecond }},
	{"algorithm, ms per pod", "%.3f", func(s sample) float64 { return s.Algorithm }},
	{"CPU, ms per pod", "%.2f", func(s sample) float64 { return s.CPU }},
	{"allocated, KiB per pod", "%.0f", func(s sample) float64 { return s.Allocated }},
}

// printTables writes one table for each combination of cluster and shape. The first variant in each table is the one
// with the plugin off.
func printTables(w io.Writer, measured []*series) {
	for i, s := range measured {
		off := measured[i-i%len(variants)]
		if s == off {
			printHead(w, s)
		}
		fmt.Fprintf(w, "| %s |", s.Variant)
		for _, f := range figures {
			value, base := s.median(f.of), off.median(f.of)
			fmt.Fprintf(w, " "+f.format+" | %.2f |", value, value/base)
		}
		fmt.Fprintf(w, " %.0f %% |\n", 100*s.median(func(s sample) float64 { return s.Batched }))
	}
}

func printHead(w io.Writer, s *series) {
	fmt.Fprintf(w, "\n## %d nodes, %s\n\n| variant |", s.Nodes, s.Shape)
	for _, f := range figures {
		fmt.Fprintf(w, " %s | x |", f.title)
	}
	fmt.Fprintf(w, " batched |\n|%s\n", strings.Repeat("---|", 2*len(figures)+2))
}

const introduction = `# Cost of the scheduler plugin

` + "`make bench-rescheduler-scheduler`" + ` writes this page. kube-scheduler 1.36 with and without PodRescheduling schedules %d pending pods (half as many in the second shape) on nodes
that exist only in the API server. The API server and etcd are real and share the machine's %d cores with the scheduler, so the pods per second depend mostly on them. The
algorithm time is the scheduler's own metric: the time from taking a pod out of its queue until a node is chosen. It includes the plugin, but it is wall
time, and other processes also use the cores. CPU and memory are those of the scheduler process, including its caches and clients. They depend
least on other work on the machine.

All variants alternate in each of %d rounds of one run. The figures are medians; x is the ratio to the value with the plugin turned off. A pod with exclusions
avoids %d nodes, which are chosen at random for each pod unless all pods have the same exclusions. The scheduler batches pods only if each pod fills a node
and no default spreading applies, as in the second shape. Pods with different exclusions cannot share a result.
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
	printTables(page, measured)
	return os.WriteFile(o.report, page.Bytes(), 0o644)
}
