package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

const introduction = `# The AppWrapper manager and many workloads

Written by ` + "`make bench-appwrapper`" + `: %d AppWrappers, each around a Job of %d pods, on %d simulated nodes. The API server, the Job
controller and the scheduler are real and share %d cores with the manager. CPU, calls and memory are the manager's alone; the seconds are
mostly those of the Job controller and the scheduler. RetryPausePeriod is 0 here, and failed Jobs have no FailureGracePeriod.

`

const playedIntroduction = `
## Memory, and calls at rest

The same manager with more AppWrappers, each around a Job of %d pods. The benchmark creates these pods and writes that they run: neither the Job
controller nor a kubelet takes part, because only what the manager keeps is measured. Memory is the peak, without the GOMEMLIMIT that the chart
sets; at a start the manager lists pods in pages. At rest nothing changes for %s.

| AppWrappers | pods | s | CPU, s | API calls | memory, MiB | memory at rest, MiB | API calls at rest | CPU at rest, s | memory of a start with all of it, MiB |
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
			fmt.Fprintf(&text, "\nFrom the moment at which a Job says that it has failed to that at which its AppWrapper is reset: %.2f s in the median, "+
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

// report prints the page, and writes it and the values.
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
