package app

import (
	"context"
	"fmt"
	"time"

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

// watch keeps one line up to date on a terminal; elsewhere each change is a new line. It ends with the workload, or with the context.
func (c *command) watch(ctx context.Context, r reader, namespace, name string) error {
	last := ""
	if c.Interactive {
		defer func() { // what is written next begins a line of its own, also after an error
			if last != "" {
				fmt.Fprintln(c.Out)
			}
		}()
	}
	for {
		w, err := r.Workload(ctx, namespace, name)
		if err != nil {
			return err
		}
		if last == "" {
			c.tell(w.Forbidden)
		}
		name = w.Name() // nobody has to be asked again for what it is part of
		now := c.Now()
		s := report.Of(w, now)
		last = c.writeLine(s, last, now)
		if s.State == report.Finished || s.State == report.Failed {
			return nil
		}
		pace := calm
		if s.State == report.Recovering {
			pace = brisk
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-c.After(pace):
		}
	}
}

// timeWidth is that of the clock at the begin of a line, which changes always.
const timeWidth = len("15:04:05")

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
