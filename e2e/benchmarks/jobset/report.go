package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/holdfast-project/holdfast/e2e/testbed/binaries"
)

// report writes the values and the page, and prints the page.
func (b *benchmark) report() error {
	if len(b.results) == 0 {
		return nil
	}
	values := b.env.File("e2e", "results", "jobset.json")
	if err := b.keepOthers(values); err != nil {
		return err
	}
	raw, err := json.MarshalIndent(b.results, "", "  ")
	if err != nil {
		return err
	}
	var page strings.Builder
	b.page(&page)
	fmt.Print(page.String())
	for file, content := range map[string]string{values: string(raw) + "\n", b.env.File("docs", "benchmarks", "jobset.md"): page.String()} {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// keepOthers adds the results of an earlier run for other shapes.
func (b *benchmark) keepOthers(file string) error {
	raw, err := os.ReadFile(file)
	if !b.options.add || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var earlier results
	if err == nil {
		err = json.Unmarshal(raw, &earlier)
	}
	if err != nil {
		return fmt.Errorf("reading earlier results: %w", err)
	}
	b.results = append(slices.DeleteFunc(earlier, func(r result) bool { return slices.Contains(b.options.shapes, r.Shape) }), b.results...)
	return nil
}

const introduction = `# The JobSet manager compared with the upstream one

The tables show the time in seconds until all Jobs have reached the state that the phase requires, the manager's CPU seconds, and its writes to the API
server: Holdfast / upstream. Less is better. Most of the time is spent in the Job controller and the scheduler, and is the same for both managers.

`

const explanation = `
"fail" ends and "restart" starts when the last JobSet has recorded its restart. A manager that reacts faster to the first failures does part of the
restart during "fail", so compare the line "fail + restart".

## Additional requests made by Holdfast

| request | number | reason |
|---|---|---|
| get jobs | one per restart | Before a restart is counted, the failed Job is read from the API server: the cache may still have a deleted Job |
| list pods | one per restart | To record the failed worker, its node and its exit code in the restart history before its pod is deleted. The API server answers this request from its cache |
| patch jobsets | one per restart | To write the entry in the restart history. It is written before the condition says that the restart is complete, so if the manager dies in between, the next one writes it again |
| patch jobsets/status | one when a change starts, one when it is complete | The upstream manager makes the same number of writes. A restart is recorded before a Job is deleted. In between, progress such as the number of ready Jobs is written every 5 s for each JobSet, and at most five times per second for all JobSets |

## How this was measured

The results were measured with ` + "`make bench-jobset`" + ` and the upstream manager %s. Both managers run the same phases on the same cluster, one after the
other: JobSets with one pod per Job are created, one pod of each JobSet fails, and all Jobs are recreated, suspended, resumed and deleted. The API server, the Job
controller and the scheduler are real and share %d cores with the manager; nodes and pods are simulated. Both managers serve their webhooks and
use their defaults (500 requests per second). Requests are counted in the API server's audit log.
`

func (b *benchmark) page(w io.Writer) {
	fmt.Fprint(w, introduction)
	shapes := b.results.shapes()
	for _, s := range shapes {
		all := b.results.of(s)
		fmt.Fprintf(w, "**%s**%s\n\n", s.heading(), all.rounds())
		all.summary(w)
		fmt.Fprintln(w)
	}
	if len(b.options.managers) > 1 {
		fmt.Fprint(w, slower(b.results))
	}
	fmt.Fprintf(w, explanation, binaries.JobSetVersion, runtime.NumCPU())
	for _, s := range shapes {
		fmt.Fprintf(w, "\n## %s: resource use\n\n", s.heading())
		b.results.of(s).details(w)
		fmt.Fprint(w, "\nRequests to the API server, Holdfast / upstream. A number in parentheses is the HTTP status of rejected requests.\n")
		b.results.of(s).requestTable(w)
	}
	if growth := b.growth(); growth != "" {
		fmt.Fprintf(w, "\n## One reconcile, from 10 to 5,000 Jobs\n\nGo benchmarks of one reconcile, without an API server. The tables show the cost per Job, and its ratio"+
			" to the cost per Job with 10 Jobs.\nIf the cost of a reconcile grew with the square of the number of Jobs, the ratio in the last line would be 500.\n%s", growth)
	}
}

func (s shape) heading() string {
	if s.JobSets == 1 {
		return fmt.Sprintf("One JobSet of %d Jobs", s.Jobs)
	}
	return fmt.Sprintf("%d JobSets of %d Jobs", s.JobSets, s.Jobs)
}

// summary compares the phases that matter most to readers.
func (r results) summary(w io.Writer) {
	fmt.Fprint(w, "| phase | seconds | ratio | CPU s | writes |\n|---|---|---|---|---|\n")
	line := func(name string, phases ...string) {
		fmt.Fprintf(w, "| %s | %s | %.2f | %s | %s |\n", name, r.pair("%.1f", seconds, phases...), r.ratio(phases...),
			r.pair("%.1f", func(one result) float64 { return one.Usage.CPU }, phases...), r.pair("%.0f", result.writes, phases...))
	}
	for _, phase := range phaseNames() {
		line(phase, phase)
		if phase == "restart" {
			line("fail + restart", "fail", "restart")
		}
	}
}

// slower names the phases that took longer with Holdfast.
func slower(all results) string {
	var phases []string
	for _, s := range all.shapes() {
		for _, phase := range phaseNames() {
			if ratio := all.of(s).ratio(phase); ratio > 1 {
				phases = append(phases, fmt.Sprintf("%s of %s (%.2f times)", phase, s.heading(), ratio))
			}
		}
	}
	if len(phases) == 0 {
		return "Holdfast is slower in no phase.\n"
	}
	return "Holdfast is slower in: " + strings.Join(phases, ", ") + ".\n"
}

// details prints a line for each phase and manager.
func (r results) details(w io.Writer) {
	fmt.Fprintln(w, "| phase | manager | seconds | CPU s | peak MiB | requests | writes | webhook calls | reconciles | allocated MiB |")
	fmt.Fprintln(w, "|---|---|---|---|---|---|---|---|---|---|")
	for _, phase := range phaseNames() {
		for _, name := range []string{ours, published} {
			of := func(value func(usage) float64) float64 {
				return r.median(name, func(one result) float64 { return value(one.Usage) }, phase)
			}
			fmt.Fprintf(w, "| %s | %s | %s | %.2f | %.0f | %.0f | %.0f | %.0f | %.0f | %.0f |\n", phase, name, r.each(name, phase),
				of(func(u usage) float64 { return u.CPU }), of(func(u usage) float64 { return u.MemoryMiB }), of(usage.calls), r.median(name, result.writes, phase),
				of(func(u usage) float64 { return u.Webhooks }), of(func(u usage) float64 { return u.Reconciles }), of(func(u usage) float64 { return u.Allocated }))
		}
	}
}

// growth extracts the tables from the output of the Go benchmarks.
func (b *benchmark) growth() string {
	if b.options.growth == "" {
		return ""
	}
	output, err := os.ReadFile(b.options.growth)
	if err != nil {
		return ""
	}
	var tables strings.Builder
	inside := false
	for line := range strings.Lines(string(output)) {
		line = strings.TrimSpace(line)
		row := strings.HasPrefix(line, "|")
		if row && !inside {
			tables.WriteString("\n")
		}
		if inside = row; row {
			tables.WriteString(line + "\n")
		}
	}
	return tables.String()
}
