package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/holdfast-project/holdfast/e2e/testbed/binaries"
)

// report prints the tables, and writes the values and the page.
func (b *benchmark) report() error {
	if len(b.results) == 0 {
		return nil
	}
	values, err := json.MarshalIndent(b.results, "", "  ")
	if err != nil {
		return err
	}
	results := b.lab.File("e2e", "results")
	if err := os.MkdirAll(results, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(results, "jobset.json"), append(values, '\n'), 0o644); err != nil {
		return err
	}
	var page strings.Builder
	b.page(&page)
	fmt.Print(page.String())
	folder := b.lab.File("docs", "benchmarks")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, "jobset.md"), []byte(page.String()), 0o644)
}

const introduction = `# The JobSet manager and many Jobs

Written by ` + "`%s`" + `. Each shape, so many JobSets of so many Jobs of one pod, is created, has one pod of each JobSet fail, is
restarted, suspended, resumed and deleted: first with our manager, then with the published one (%s), on the same cluster in one run.
The API server, the Job controller and the scheduler are real and share %d cores with the manager; nodes and pods are simulated. Both
managers serve their webhooks and have their defaults (500 requests per second).

Seconds are those until all Jobs are where the phase wants them, most of which is the Job controller's and the scheduler's work. CPU, calls
and peak memory are the manager's alone. A failure and the restart after it are one answer: what is done before the last JobSet has recorded its
restart counts for the phase "fail", so add the two up. Our manager writes the numbers of Jobs that are on their way every 5 s for each JobSet, so that
a run on a busier machine has more PATCH calls.
`

func (b *benchmark) page(w io.Writer) {
	fmt.Fprintf(w, introduction, b.options.command, binaries.JobSetVersion, runtime.NumCPU())
	for _, s := range b.options.shapes {
		fmt.Fprintf(w, "\n## %s\n\n", s.heading())
		b.table(w, s)
		fmt.Fprintf(w, "\nRequests to the API server, %s:\n\n", strings.Join(b.options.managers, " / "))
		b.requestTable(w, s)
	}
	if growth := b.growth(); growth != "" {
		fmt.Fprintf(w, "\n## One pass, from 10 to 5,000 Jobs\n\nGo benchmarks of one reconcile, without an API server: what it costs for each Job, and how many times"+
			" that at 10 Jobs.\nA manager whose passes cost the square of the Jobs would have 500 in the last line.\n%s", growth)
	}
}

func (s shape) heading() string {
	if s.JobSets == 1 {
		return fmt.Sprintf("One JobSet of %d Jobs", s.Jobs)
	}
	return fmt.Sprintf("%d JobSets of %d Jobs", s.JobSets, s.Jobs)
}

// table has a line for each phase and manager.
func (b *benchmark) table(w io.Writer, s shape) {
	fmt.Fprintln(w, "| phase | manager | seconds | CPU s | peak MiB | API calls | GET | POST | PATCH, PUT | DELETE | webhook calls | reconciles | allocated MiB |")
	fmt.Fprintln(w, "|---|---|---|---|---|---|---|---|---|---|---|---|---|")
	for _, p := range (&stage{}).phases() {
		for _, name := range b.options.managers {
			for _, r := range b.results {
				if r.Shape != s || r.Phase != p.name || r.Manager != name {
					continue
				}
				u := r.Usage
				fmt.Fprintf(w, "| %s | %s | %.1f | %.2f | %.0f | %.0f | %.0f | %.0f | %.0f | %.0f | %.0f | %.0f | %.0f |\n", p.name, name, u.Seconds, u.CPU, u.MemoryMiB,
					u.calls(), u.Calls["GET"], u.Calls["POST"], u.Calls["PATCH"]+u.Calls["PUT"], u.Calls["DELETE"], u.Webhooks, u.Reconciles, u.Allocated)
			}
		}
	}
}

// growth takes the tables out of the output of the Go benchmarks.
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
