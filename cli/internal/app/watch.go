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

// Poll intervals. An in-place restart takes less than a second.
const (
	slowPoll = time.Second
	fastPoll = 200 * time.Millisecond
)

type reader interface {
	Workload(ctx context.Context, namespace, name string) (*read.Workload, error)
}

// watcher holds the state between two polls.
type watcher struct {
	*command
	reader
	namespace, name string
	last            string // last line written; empty after other output
	known           bool   // the workload was found
	failing         bool   // the last poll failed
}

// watch updates a single line if the output is a terminal, and prints each change on a new line if it is not. It ends when the
// workload has finished or failed, or when ctx is done. Errors after the first poll are reported once and retried, because users also
// watch during API server outages.
func (c *command) watch(ctx context.Context, r reader, namespace, name string) error {
	w := &watcher{command: c, reader: r, namespace: namespace, name: name}
	defer w.endLine() // later output starts on a new line
	for {
		over, interval, err := w.poll(ctx)
		if over || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-c.After(interval):
		}
	}
}

// poll reads the workload and writes its status. It reports whether the workload has ended, and if not, when to poll again.
func (w *watcher) poll(ctx context.Context) (over bool, interval time.Duration, err error) {
	workload, err := w.Workload(ctx, w.namespace, w.name)
	now := w.Now()
	switch {
	case ctx.Err() != nil:
		return false, 0, ctx.Err()
	case err != nil && (!w.known || final(err)):
		return false, 0, err
	case err != nil:
		w.reportError(err, now)
		return false, slowPoll, nil
	}
	if !w.known {
		w.warnForbidden(workload.Forbidden)
	}
	w.known, w.failing = true, false
	w.name = workload.Name() // later polls need not search for the root
	s := report.Of(workload, now)
	w.writeLine(s.Line(w.palette(), now))
	if s.State == report.Recovering {
		return false, fastPoll, nil
	}
	return s.State == report.Finished || s.State == report.Failed, slowPoll, nil
}

// final reports whether retrying is pointless.
func final(err error) bool {
	return errors.Is(err, read.ErrNotFound) || errors.Is(err, read.ErrForbidden) || apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err)
}

// reportError reports the first of consecutive errors.
func (w *watcher) reportError(err error, now time.Time) {
	if w.failing {
		return
	}
	w.failing = true
	w.endLine()
	fmt.Fprintf(w.Err, "%s  error: %v; retrying\n", now.UTC().Format(clock), err)
}

// endLine ends the current line on a terminal, and shows all of it.
func (w *watcher) endLine() {
	if w.Interactive && w.last != "" {
		fmt.Fprintf(w.Out, "%s%s\n", clearLine, w.last)
	}
	w.last = ""
}

// clock is the format of the time at the start of a line.
const clock = "15:04:05"

// Escape sequences of terminals. Without wrapping, a terminal cuts a line at its width.
const (
	clearLine = "\r\x1b[K"
	wrapOff   = "\x1b[?7l"
	wrapOn    = "\x1b[?7h"
)

// writeLine updates the line on a terminal, on a single row, because the next update clears only one row. Elsewhere, it writes the line if
// anything other than the time has changed.
func (w *watcher) writeLine(line string) {
	switch {
	case w.Interactive:
		fmt.Fprint(w.Out, clearLine+wrapOff+line+wrapOn)
	case w.last == "" || line[len(clock):] != w.last[len(clock):]:
		fmt.Fprintln(w.Out, line)
	}
	w.last = line
}
