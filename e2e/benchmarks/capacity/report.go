package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
)

const introduction = `# JobSet manager and orchestrator with many pods

What the two programs of the JobSet chart need with up to %d running pods of JobSets with in-place restarts. Memory is the peak in
MiB, without the chart's GOMEMLIMIT.

`

const method = `
## How it was measured

%s wrote this page: %s, %d cores. Each JobSet has %d Jobs of %d pods with the exec driver. The API server, etcd, the manager with its webhooks,
the orchestrator, and a store with TLS and a user for each group are real. The benchmark creates the pods, sets the status of pods and Jobs to
running, and joins each group with one call for up to %d workers. So no kubelet, Job controller or agent takes part.

* **idle**: %s without a change, %s after the last one. API calls include the renewals of the program's Lease.
* **start**: the program is started while all objects exist, and measured after %s. Each JobSet is reconciled at least once.
* **one reconcile**: the mean time of all reconciles after the start, of all controllers of the program.
`

// text returns the page for the measured sizes.
func (o options) text(sizes []size) string {
	var text strings.Builder
	fmt.Fprintf(&text, introduction, sizes[len(sizes)-1].Pods)
	text.WriteString("| pods | JobSets | program | memory | idle memory | idle CPU, ms per s | idle API calls per s | start: memory | start: CPU, s | start: API calls | one reconcile, ms |\n")
	text.WriteString("|---|---|---|---|---|---|---|---|---|---|---|\n")
	const mib = 1 << 20
	for _, s := range sizes {
		fmt.Fprintf(&text, "| %d | %d | %s | %.0f | %.0f | %.1f | %.1f | %.0f | %.1f | %.0f | %.1f |\n", s.Pods, s.JobSets, s.Program,
			s.Growing.RSS/mib, s.Rest.RSS/mib, 1000*s.Rest.CPU/atRest.Seconds(), s.Rest.Calls/atRest.Seconds(),
			s.Start.RSS/mib, s.Start.CPU, s.Start.Calls, 1000*s.Start.ReconcileTime/max(1, s.Start.Reconciles))
	}
	fmt.Fprintf(&text, method, "`make bench-capacity`", time.Now().UTC().Format(time.DateOnly), runtime.NumCPU(), o.jobs, o.pods, rounds.MaxBatch, atRest, settling, settling)
	return text.String()
}

// report writes the values and the page.
func (b *benchmark) report(sizes []size) error {
	values, err := json.MarshalIndent(sizes, "", "  ")
	if err != nil {
		return err
	}
	for file, content := range map[string]string{b.results: string(values) + "\n", b.page: b.text(sizes)} {
		file = filepath.Join(b.env.File(), file)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
			return err
		}
	}
	return nil
}
