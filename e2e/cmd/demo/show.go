package main

import (
	"context"
	"fmt"
	"time"

	"github.com/holdfast-project/holdfast/e2e/framework"
	"github.com/holdfast-project/holdfast/e2e/framework/recovery"
)

// row holds the times of one recovery mode.
type row struct {
	answer        recovery.Mode
	first, second time.Duration
}

// show kills two workers, one after the other, and prints the timeline of the first failure.
func show(ctx context.Context, env *framework.Environment, a recovery.Mode) (row, error) {
	r := row{answer: a}
	fmt.Println()
	say("%s: examples/%s, %d workers", a.Name, a.Example, workers)
	begun := time.Now()
	t, err := recovery.Start(ctx, env, namespace, a, workers)
	if err != nil {
		return r, err
	}
	defer t.End(ctx) //nolint:errcheck // the next demo removes it first
	say("all %d workers run after %.1f s", workers, time.Since(begun).Seconds())
	first, err := t.Fail(ctx)
	if err != nil {
		return r, err
	}
	timeline(first, a)
	second, err := t.Fail(ctx)
	if err != nil {
		return r, fmt.Errorf("the second time: %w", err)
	}
	r.first, r.second = first.Outage(), second.Outage()
	return r, nil
}

// timeline prints the phases of a restart in milliseconds from the kill.
func timeline(f recovery.Failure, a recovery.Mode) {
	p := f.Phases()
	line := func(what string, at time.Duration, how string) {
		fmt.Printf("  %7.0f ms   %-13s %s\n", at.Seconds()*1000, what, how)
	}
	line("failure", 0, "kill -9 of worker "+f.Worker)
	if f.Account != nil {
		line("detected", p.Detected, "by the agent on its node")
		line("ordered", p.Ordered, fmt.Sprintf("by the store: total restart count %d for all", f.Account.Round))
		line("in sync", p.InSync, fmt.Sprintf("all %d workers joined", workers))
	}
	line("running again", p.Again, "the last worker printed its first line; it keeps "+a.Keeps)
}

// compare prints a table, with ratios to the slowest mode.
func compare(rows []row) {
	slowest := rows[len(rows)-1]
	fmt.Printf("\nOne of %d workers dies: seconds until all run again\n\n", workers)
	fmt.Println("| answered by           | first failure | second failure | it keeps |")
	fmt.Println("|-----------------------|---------------|----------------|----------|")
	for _, r := range rows {
		fmt.Printf("| %-21s | %5.2f  %5.1fx | %6.2f  %5.1fx | %s |\n", r.answer.Name, r.first.Seconds(), ratio(slowest.first, r.first),
			r.second.Seconds(), ratio(slowest.second, r.second), r.answer.Keeps)
	}
}

func ratio(slow, fast time.Duration) float64 { return slow.Seconds() / fast.Seconds() }
