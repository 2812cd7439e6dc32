package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

const introduction = `# AppWrapper manager with many workloads

` + "`make bench-appwrapper`" + ` writes this page: %d AppWrappers, each around a Job of %d pods, on %d simulated nodes. The API server, the Job
controller and the scheduler are real and share %d cores with the manager. CPU, API calls and memory are the manager's only. Most of
the time is spent in the Job controller and the scheduler. RetryPausePeriod and the FailureGracePeriod of failed Jobs are 0.

`

const playedIntroduction = `
## Memory and idle API calls

This table shows the same manager with more AppWrappers, each around a Job of %d pods. The benchmark creates these pods and sets their status to running.
The Job controller and kubelets are not involved, because only the manager's memory is measured. Memory is peak usage, without the chart's
GOMEMLIMIT. When the manager starts, it lists pods in pages. Idle means that nothing changes for %s.

| AppWrappers | pods | s | CPU, s | API calls | memory, MiB | idle memory, MiB | idle API calls | idle CPU, s | memory when starting with all objects, MiB |
|---|---|---|---|---|---|---|---|---|---|
`

func page(o options, phases []phase, sizes []size) string {
	var text strings.Builder
	fmt.Fprintf(&text, introduction, o.workloads, o.pods, o.nodes, runtime.NumCPU())
	text.WriteString("| what | s | CPU, s | memory at the end, MiB | API calls |\n|---|---|---|---|---|\n")
	for _, p := range phases {
		fmt.Fprintf(&text, "| %s | %.1f | %.1f | %.0f | %.0f |\n", p.Name, p.Seconds, p.Usage.CPU, p.Usage.RSS/(1<<20), p.Usage.Calls)
	}
	for _, p := range phases {
		if a := p.Answers; a != (answers{}) {
			fmt.Fprintf(&text, "\nTime from the failure of a Job, as reported in its status, to the reset of its AppWrapper: %.2f s (median), "+
				"%.2f s for the last of %d.\n", a.Median, a.Last, o.failures)
		}
	}
	fmt.Fprintf(&text, playedIntroduction, o.played, atRest)
	for _, s := range sizes {
		fmt.Fprintf(&text, "| %d | %d | %.0f | %.1f | %.0f | %.0f | %.0f | %.0f | %.1f | %.0f |\n", s.Workloads, s.Pods, s.Seconds, s.Usage.CPU, s.Usage.Calls,
			s.Usage.RSS/(1<<20), s.Rest.RSS/(1<<20), s.Rest.Calls, s.Rest.CPU, s.RestartMiB)
	}
	return text.String()
}

// report prints and writes the page, and writes the values.
func (b *bench) report(phases []phase, sizes []size) error {
	content, err := json.MarshalIndent(map[string]any{"workloads": b.workloads, "nodes": b.nodes, "phases": phases, "sizes": sizes}, "", "  ")
	if err != nil {
		return err
	}
	text := page(b.options, phases, sizes)
	fmt.Print(text)
	for file, content := range map[string][]byte{
		b.env.File("e2e", "results", "appwrapper.json"):   append(content, '\n'),
		b.env.File("docs", "benchmarks", "appwrapper.md"): []byte(text),
	} {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, content, 0o644); err != nil {
			return err
		}
	}
	return nil
}
