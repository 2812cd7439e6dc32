package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
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
		func(p recovery.Phases) time.Duration { return p.InSync },
		again,
	}
)

func printTables(w io.Writer, rows []row, o options) {
	kubelet := "the kubelet's defaults"
	if o.period > 0 {
		kubelet = "a kubelet restart period of " + o.period.String()
	}
	fmt.Fprintf(w, "\nseconds from kill -9 of one worker, or the deletion of its pod, until all run again; medians of %d groups; %s; "+
		"the second failure %s after the first\n\n", o.groups, kubelet, o.pause)
	fmt.Fprintf(w, "| workers | %-36s | first | second | pod deleted | recreation / this: first | second | pod deleted |\n"+
		"|---|---|---|---|---|---|---|---|\n", "answer")
	for _, r := range rows {
		base := baseline(rows, r.Workers)
		first, second, lost := median(r.First, again), median(r.Second, again), median(r.Lost, again)
		fmt.Fprintf(w, "| %d | %-36s | %.2f | %.2f | %.2f | %.1f | %.1f | %.1f |\n", r.Workers, r.Answer,
			first.Seconds(), second.Seconds(), lost.Seconds(), median(base.First, again).Seconds()/first.Seconds(),
			median(base.Second, again).Seconds()/second.Seconds(), median(base.Lost, again).Seconds()/lost.Seconds())
	}
	printPhases(w, "first", rows, func(r row) []recovery.Phases { return r.First })
	printPhases(w, "second", rows, func(r row) []recovery.Phases { return r.Second })
	printPhases(w, "third (pod deleted)", rows, func(r row) []recovery.Phases { return r.Lost })
}

func printPhases(w io.Writer, which string, rows []row, of func(row) []recovery.Phases) {
	fmt.Fprintf(w, "\nthe phases of the %s failure, milliseconds from the kill\n\n", which)
	fmt.Fprintf(w, "| workers | %-36s | detected | ordered | in sync | all run |\n|---|---|---|---|---|---|\n", "answer")
	for _, r := range rows {
		fmt.Fprintf(w, "| %d | %-36s |", r.Workers, r.Answer)
		for _, p := range phases {
			fmt.Fprintf(w, " %s |", milliseconds(median(of(r), p)))
		}
		fmt.Fprintln(w)
	}
}

// baseline returns the row of the recreation at that size.
func baseline(rows []row, workers int) row {
	i := slices.IndexFunc(rows, func(r row) bool { return r.Workers == workers && r.Answer == recovery.Recreate.Name })
	return rows[i]
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
