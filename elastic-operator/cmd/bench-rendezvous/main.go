// Command bench-rendezvous measures the managed rendezvous server with many concurrent agents and prints a table. The server runs in a
// separate process.
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
	agents := pflag.Int("agents", 1000, "Number of agents.")
	binary := pflag.String("server", "bin/rendezvous", "Path of the server binary.")
	out := pflag.String("out", "", "File for the results as JSON. If empty, no file is written.")
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

// result is one row of the table.
type result struct {
	Name     string
	Agents   int
	Total    time.Duration
	P50, P99 time.Duration // percentiles of the agents' waiting times
	Requests int
	CPU      time.Duration // CPU time of the server
	RSS      int64         // resident memory of the server at the end, in bytes
}

// percentiles returns the percentiles of the agents' waiting times.
func percentiles(waits []time.Duration) (p50, p99 time.Duration) {
	slices.Sort(waits)
	return waits[len(waits)/2], waits[(len(waits)-1)*99/100]
}

func print(results []result) {
	fmt.Println("| agents | concurrent step                   | total     | p50       | p99       | requests | server CPU | memory   |")
	fmt.Println("|-------:|-----------------------------------|----------:|----------:|----------:|---------:|-----------:|---------:|")
	for _, r := range results {
		fmt.Printf("| %6d | %-33s | %9s | %9s | %9s | %8d | %10s | %4d MiB |\n", r.Agents, r.Name, short(r.Total), short(r.P50), short(r.P99), r.Requests, short(r.CPU), r.RSS>>20)
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
