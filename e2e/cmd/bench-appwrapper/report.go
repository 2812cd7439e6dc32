package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

func printTable(w io.Writer, o options, phases []phase) {
	fmt.Fprintf(w, "\n%d AppWrappers on %d simulated nodes\n\n", o.workloads, o.nodes)
	fmt.Fprintln(w, "| what | s | last reset decided after, s | CPU, s | memory at the end, MiB | API calls |")
	fmt.Fprintln(w, "|---|---|---|---|---|---|")
	for _, p := range phases {
		decided := "-"
		if p.Decided > 0 {
			decided = fmt.Sprintf("%.1f", p.Decided)
		}
		fmt.Fprintf(w, "| %s | %.1f | %s | %.1f | %.0f | %.0f |\n", p.Name, p.Seconds, decided, p.Usage.CPU, p.Usage.RSS/(1<<20), p.Usage.Calls)
	}
}

func save(dir string, o options, phases []phase) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("saving the results: %w", err)
	}
	content, err := json.MarshalIndent(map[string]any{"workloads": o.workloads, "nodes": o.nodes, "phases": phases}, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "appwrapper.json"), append(content, '\n'), 0o644)
}
