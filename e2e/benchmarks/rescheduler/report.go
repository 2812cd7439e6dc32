package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

func tableOf(o options, results []result, memory float64) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Time from the rejection of a pod until its replacement is assigned to another node: %d pods one by one, then %d pods simultaneously, with %d good nodes.\n\n", o.samples, o.pods, o.nodes)
	fmt.Fprintln(&b, "| avoids the node by | one pod: median, s | slowest, s | rejections per pod | simultaneous: last, s | rejections |")
	fmt.Fprintln(&b, "|---|---|---|---|---|---|")
	for _, r := range results {
		single, slowest, each, last := "-", "-", "-", "never"
		if n := len(r.Singles); n > 0 {
			sorted := slices.Sorted(slices.Values(r.Singles))
			single, slowest = fmt.Sprintf("%.3f", sorted[n/2]), fmt.Sprintf("%.3f", sorted[n-1])
			each = fmt.Sprintf("%.2f", float64(r.Rejections)/float64(n))
		}
		if r.WaveSeconds > 0 {
			last = fmt.Sprintf("%.1f", r.WaveSeconds)
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %d |\n", r.Way, single, slowest, each, last, r.WaveRejections)
	}
	fmt.Fprintf(&b, "\nIn the row \"without\", the pods do not request rescheduling, and the scheduler prefers the bad node. They were observed for %s.\n", watched)
	fmt.Fprintf(&b, "\nThe rescheduler's peak memory during the run, with at most %d pods at a time, was %.0f MiB.\n", o.pods, memory)
	return b.String()
}

func save(o options, results []result, table string) error {
	folder := filepath.Join(o.root, "e2e", "results")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return fmt.Errorf("saving the results: %w", err)
	}
	content, err := json.MarshalIndent(map[string]any{"samples": o.samples, "pods": o.pods, "nodes": o.nodes, "results": results}, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(folder, "rescheduler.json"), append(content, '\n'), 0o644); err != nil {
		return err
	}
	if o.report == "" {
		return nil
	}
	return os.WriteFile(o.report, []byte("# Time to reschedule a pod\n\n`make bench-rescheduler` writes this page.\n\n"+table), 0o644)
}
