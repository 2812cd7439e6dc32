// Command bench-rendezvous measures the managed rendezvous with many agents at once, in a process of its own, and prints a table.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/pflag"
)

func main() {
	agents := pflag.Int("agents", 1000, "How many agents there are.")
	binary := pflag.String("server", "bin/rendezvous", "The server's program.")
	out := pflag.String("out", "", "Where the results go as JSON; empty is nowhere.")
	pflag.Parse()
	results, err := measure(*binary, *agents)
	if err == nil {
		print(results)
		err = write(*out, results)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench-rendezvous:", err)
		os.Exit(1)
	}
}

// result is one row.
type result struct {
	Name     string
	Agents   int
	Total    time.Duration
	P50, P99 time.Duration // of what one agent waits; zero if each waits for the total
	Requests int
	CPU      time.Duration // of the server
	RSS      int64         // of the server, at the end, in bytes
}

// percentiles of what each agent has waited.
func percentiles(waits []time.Duration) (p50, p99 time.Duration) {
	slices.Sort(waits)
	return waits[len(waits)/2], waits[(len(waits)-1)*99/100]
}

func print(results []result) {
	fmt.Printf("| %-44s | total     | p50       | p99       | requests | server CPU | memory   |\n", fmt.Sprintf("%d agents", results[0].Agents))
	fmt.Println("|----------------------------------------------|-----------|-----------|-----------|----------|------------|----------|")
	for _, r := range results {
		fmt.Printf("| %-44s | %9s | %9s | %9s | %8d | %10s | %4d MiB |\n", r.Name, short(r.Total), short(r.P50), short(r.P99), r.Requests, short(r.CPU), r.RSS>>20)
	}
}

func short(d time.Duration) string {
	switch {
	case d == 0:
		return "-"
	case d < 10*time.Second:
		return fmt.Sprintf("%.1f ms", float64(d)/float64(time.Millisecond))
	default:
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
}

func write(path string, results []result) error {
	if path == "" {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	b, err := json.MarshalIndent(results, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(b, '\n'), 0o644)
}
