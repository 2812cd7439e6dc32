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

// Pace of looking: the line has a clock in it, and a restart in place is over within a second.
const (
	calm  = time.Second
	brisk = 200 * time.Millisecond
)

// reader of a workload.
type reader interface {
	Workload(ctx context.Context, namespace, name string) (*read.Workload, error)
}

// watcher is between two looks.
type watcher struct {
	*command
	reader
	namespace, name string
	last            string // line, empty after something else was written
	known           bool   // it was seen
	troubled        bool   // the last look failed
}

// watch keeps one line up to date on a terminal; elsewhere each change is a new line. It ends with the workload, or with the context. What
// fails after the first look is told once and tried again: people watch when an API server is in trouble, too.
func (c *command) watch(ctx context.Context, r reader, namespace, name string) error {
	w := &watcher{command: c, reader: r, namespace: namespace, name: name}
	defer w.endLine() // what is written next begins a line of its own, also after an error
	for {
		over, pace, err := w.look(ctx)
		if over || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-c.After(pace):
		}
	}
}

// look at the workload and write it down: whether it is over, and else when to look again.
func (w *watcher) look(ctx context.Context) (over bool, pace time.Duration, err error) {
	workload, err := w.Workload(ctx, w.namespace, w.name)
	now := w.Now()
	switch {
	case ctx.Err() != nil:
		return false, 0, ctx.Err()
	case err != nil && (!w.known || final(err)):
		return false, 0, err
	case err != nil:
		w.trouble(err, now)
		return false, calm, nil
	}
	if !w.known {
		w.tell(workload.Forbidden)
	}
	w.known, w.troubled = true, false
	w.name = workload.Name() // nobody has to be asked again for what it is part of
	s := report.Of(workload, now)
	w.last = w.writeLine(s, w.last, now)
	if s.State == report.Recovering {
		return false, brisk, nil
	}
	return s.State == report.Finished || s.State == report.Failed, calm, nil
}

// final errors are those that another look does not mend.
func final(err error) bool {
	return errors.Is(err, read.ErrNotFound) || errors.Is(err, read.ErrForbidden) || apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err)
}

// trouble is told when it begins.
func (w *watcher) trouble(err error, now time.Time) {
	if w.troubled {
		return
	}
	w.troubled = true
	w.endLine()
	fmt.Fprintf(w.Err, "%s  error: %v; looking again\n", now.UTC().Format(clock), err)
}

// endLine on a terminal, where it is open.
func (w *watcher) endLine() {
	if w.Interactive && w.last != "" {
		fmt.Fprintln(w.Out)
	}
	w.last = ""
}

// timeWidth is that of the clock at the begin of a line, which changes always.
const (
	clock     = "15:04:05"
	timeWidth = len(clock)
)

func (c *command) writeLine(s report.Status, last string, now time.Time) string {
	line := s.Line(c.palette(), now)
	switch {
	case c.Interactive:
		fmt.Fprintf(c.Out, "\r\x1b[K%s", line)
	case last == "" || line[timeWidth:] != last[timeWidth:]:
		fmt.Fprintln(c.Out, line)
	}
	return line
}
