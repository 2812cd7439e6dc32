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

// watch keeps one line up to date on a terminal; elsewhere each change is a new line. It ends with the workload, or with the context.
func (c *command) watch(ctx context.Context, r read.Reader, namespace, name string) error {
	last := ""
	for {
		w, err := r.Workload(ctx, namespace, name)
		if err != nil {
			return err
		}
		now := c.Now()
		s := report.Of(w, now)
		last = c.writeLine(s, last, now)
		if s.State == report.Finished || s.State == report.Failed {
			if c.Interactive {
				fmt.Fprintln(c.Out)
			}
			return nil
		}
		pace := calm
		if s.State == report.Recovering {
			pace = brisk
		}
		timer := time.NewTimer(pace)
		select {
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		case <-timer.C:
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
