package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

func printTable(w io.Writer, o options, phases []phase) {
	fmt.Fprintf(w, "\nOne ElasticJob of %d workers on %d simulated nodes\n\n", o.workers, o.nodes)
	fmt.Fprintln(w, "| what | s | CPU, s | memory at the end, MiB | API calls | per worker |")
	fmt.Fprintln(w, "|---|---|---|---|---|---|")
	for _, p := range phases {
		each := "-"
		if p.Workers > 0 {
			each = fmt.Sprintf("%.1f", p.Usage.Calls/float64(p.Workers))
		}
		fmt.Fprintf(w, "| %s | %.1f | %.1f | %.0f | %.0f | %s |\n", p.Name, p.Seconds, p.Usage.CPU, p.Usage.RSS/(1<<20), p.Usage.Calls, each)
	}
}

func save(dir string, o options, phases []phase) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("saving the results: %w", err)
	}
	content, err := json.MarshalIndent(map[string]any{"workers": o.workers, "nodes": o.nodes, "phases": phases}, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "elastic.json"), append(content, '\n'), 0o644)
}
