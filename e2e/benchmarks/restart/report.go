package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-project/holdfast/e2e/framework/recovery"
)

// part selects one time of a failure.
type part func(recovery.Phases) time.Duration

var (
	again  part = func(p recovery.Phases) time.Duration { return p.Again }
	phases      = []part{
		func(p recovery.Phases) time.Duration { return p.Detected },
		func(p recovery.Phases) time.Duration { return p.Ordered },
		func(p recovery.Phases) time.Duration { return p.Ended },
		func(p recovery.Phases) time.Duration { return p.InSync },
		again,
	}
)

// page returns the page that `-report` writes. It is printed otherwise.
func page(rows []row, o options) string {
	w := &strings.Builder{}
	fmt.Fprintf(w, intro, runtime.NumCPU(), kubelet(o.period), o.groups, o.pause, time.Now().UTC().Format(time.DateOnly))
	fmt.Fprint(w, "| workers | recovery | first failure | second failure | deleted pod | duration of recreation / this: first | second | deleted pod |\n"+
		"|---:|---|---:|---:|---:|---:|---:|---:|\n")
	for _, r := range rows {
		base := baseline(rows, r.Workers)
		first, second, lost := median(r.First, again), median(r.Second, again), median(r.Lost, again)
		fmt.Fprintf(w, "| %d | %s | %.2f | %.2f | %.2f | %s | %s | %s |\n", r.Workers, r.Answer, first.Seconds(), second.Seconds(), lost.Seconds(),
			ratio(base.First, first), ratio(base.Second, second), ratio(base.Lost, lost))
	}
	fmt.Fprint(w, phasesIntro)
	for _, failure := range []struct {
		title  string
		phases func(row) []recovery.Phases
	}{
		{"First failure", func(r row) []recovery.Phases { return r.First }},
		{"Second failure", func(r row) []recovery.Phases { return r.Second }},
		{"Deleted pod", func(r row) []recovery.Phases { return r.Lost }},
	} {
		fmt.Fprintf(w, "\n### %s\n\n| workers | recovery | detected | ordered | pod ended | in sync | all run |\n|---:|---|---:|---:|---:|---:|---:|\n", failure.title)
		for _, r := range rows {
			fmt.Fprintf(w, "| %d | %s |", r.Workers, r.Answer)
			for _, p := range phases {
				fmt.Fprintf(w, " %s |", milliseconds(median(failure.phases(r), p)))
			}
			fmt.Fprintln(w)
		}
	}
	return w.String()
}

const intro = `# Restarts on a real node

` + "`make bench-restart`" + ` writes this page. All pods run on one machine with %d cores, and the control plane runs on the same cores. A spare is on a second node of that machine. A worker is a small program without a
GPU, so the figures show the restart alone. The time runs from the kill of one worker (` + "`kill -9`" + `), or from the deletion of its pod, until the
program of the last worker runs again. Each group fails three times: it fails first two seconds after its start, then one worker is killed again,
and two seconds later a pod is deleted. The kubelet runs with %s. The delay of
restarts that end early is off (` + "`holdfast.dev/max-restart-delay: 0s`" + `), otherwise the third failure within a minute would wait for one second.

Medians of %d groups; the second failure comes %s after the first. Measured on %s.

## Seconds until all workers run again

`

const phasesIntro = `
## Phases

Milliseconds from the failure. **detected**: the agent knew that the worker had exited. **ordered**: the store had published the order to restart.
**pod ended**: the API server showed that nothing of the deleted pod ran any more, so that its slot could be given away.
**in sync**: the last worker had joined. **all run**: the program of the last worker had started. The times come from four programs that share
one clock, so those in the same moment can be a few milliseconds out of order.
`

func kubelet(period time.Duration) string {
	if period > 0 {
		return "a maximum restart period of " + period.String()
	}
	return "its default back-off"
}

// baseline returns the row for recreation at the given size, or an empty row if it was not measured.
func baseline(rows []row, workers int) row {
	i := slices.IndexFunc(rows, func(r row) bool { return r.Workers == workers && r.Answer == recovery.Recreate.Name })
	if i < 0 {
		return row{}
	}
	return rows[i]
}

func ratio(base []recovery.Phases, is time.Duration) string {
	if len(base) == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f", median(base, again).Seconds()/is.Seconds())
}

func milliseconds(d time.Duration) string {
	if d == 0 {
		return "-"
	}
	return fmt.Sprint(d.Milliseconds())
}

func median(all []recovery.Phases, of part) time.Duration {
	var values []time.Duration
	for _, p := range all {
		values = append(values, of(p))
	}
	slices.Sort(values)
	return (values[(len(values)-1)/2] + values[len(values)/2]) / 2
}

func save(dir string, rows []row) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("saving the results: %w", err)
	}
	content, err := json.MarshalIndent(rows, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "restart.json"), append(content, '\n'), 0o644)
}
