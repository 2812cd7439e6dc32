package app

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/holdfast-project/holdfast/cli/internal/read"
	"github.com/holdfast-project/holdfast/cli/internal/report"
)

// Poll intervals. The interval during a recovery is short, because an in-place restart takes less than a second.
const (
	slowPoll = time.Second
	fastPoll = 200 * time.Millisecond
)

type reader interface {
	Workload(ctx context.Context, namespace, name string) (*read.Workload, error)
}

// clock is the format of the time at the start of each line.
const clock = "15:04:05"

// watch prints the status on a line each time it changes. It ends when the workload has finished or failed, or when ctx is done. Errors after
// the first poll are reported once and retried, because users also watch during API server outages.
func (c *command) watch(ctx context.Context, r reader, namespace, name string) error {
	known, last := false, "" // last is the last line, and empty after an error
	for {
		w, err := r.Workload(ctx, namespace, name)
		now, interval := c.Now(), slowPoll
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && (!known || final(err)):
			return err
		case err == nil:
			if !known {
				c.warnForbidden(w.Forbidden)
			}
			known, name = true, w.Name() // later polls need not search for the root
			s := report.Of(w, now)
			if line := s.Line(); line != last {
				fmt.Fprintf(c.Out, "%s  %s\n", now.UTC().Format(clock), line)
				last = line
			}
			if s.State == report.Finished || s.State == report.Failed {
				return nil
			}
			if s.State == report.Recovering {
				interval = fastPoll
			}
		case last != "":
			fmt.Fprintf(c.Err, "%s  error: %v; retrying\n", now.UTC().Format(clock), err)
			last = ""
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-c.After(interval):
		}
	}
}

// final reports whether a retry after the error is pointless.
func final(err error) bool {
	return errors.Is(err, read.ErrNotFound) || errors.Is(err, read.ErrForbidden) || apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err)
}
