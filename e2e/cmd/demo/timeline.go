package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/holdfast-project/holdfast/e2e/lab"
	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
)

// printTimeline shows the account of the last restart, in milliseconds from the failure. The times come from the killer,
// the agents, the store and the workers' own output; all share this machine's clock.
func printTimeline(ctx context.Context, l *lab.Lab, js *v1alpha2.JobSet, killed, started time.Time) error {
	history, err := l.Store.History(ctx, string(js.UID))
	if err != nil {
		return err
	}
	if len(history) == 0 {
		return errors.New("the store has no account of the restart")
	}
	r := history[len(history)-1]
	row := func(what string, unixMilli int64, how string) {
		fmt.Printf("  %7d ms   %-13s %s\n", unixMilli-killed.UnixMilli(), what, how)
	}
	fmt.Println()
	row("failure", killed.UnixMilli(), "kill -9 of the worker's process")
	row("detected", r.DetectedAt, "its agent saw the container exit")
	row("reported", r.ReportedAt, fmt.Sprintf("to the store: exit code %d", r.Cause.ExitCode))
	row("ordered", r.ReportedAt, fmt.Sprintf("by the store in the same step: total restart count %d for all", r.Round))
	row("workers down", r.LastDownAt, fmt.Sprintf("%d of %d", r.Downs, workers))
	row("workers up", started.UnixMilli(), "the last one printed its first line")
	row("in sync", r.InSyncAt, fmt.Sprintf("%d of %d joined", r.Ups, workers))
	return nil
}
