// Package journal writes the log and the container termination message of an agent.
package journal

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync/atomic"
	"time"

	"github.com/holdfast-project/holdfast/agent/internal/config"
)

// TerminationLog is the file from which the kubelet reads a container's termination message.
const TerminationLog = "/dev/termination-log"

// New returns the agent's log. Each line is a JSON object with a timestamp in UTC, with millisecond precision, so that
// the logs of a group can be merged by time.
func New(w io.Writer, level slog.Level) *slog.Logger {
	return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: level, ReplaceAttr: milliseconds}))
}

func milliseconds(groups []string, a slog.Attr) slog.Attr {
	if a.Key == slog.TimeKey && len(groups) == 0 {
		return slog.String(slog.TimeKey, a.Value.Time().UTC().Format("2006-01-02T15:04:05.000Z"))
	}
	return a
}

// Terminate writes a container's termination message, which `kubectl describe pod` shows. It does nothing if the file
// does not exist.
func Terminate(path, message string) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return
	}
	defer f.Close()
	io.WriteString(f, message+"\n") //nolint:errcheck // there is nowhere left to report the error
}

// LastLines is how long an exiting program waits for its last log lines to be written.
const LastLines = 100 * time.Millisecond

// End reports the error with which a program ends, if any, in the log and in the container's termination message. It
// returns the exit code, which is 0 without an error or if the error is a help text.
func End(program string, code int, err error) int {
	if err == nil {
		return 0
	}
	if help, is := errors.AsType[config.Help](err); is {
		fmt.Print(string(help))
		return 0
	}
	Terminate(TerminationLog, err.Error())
	output := Detach(os.Stderr)
	fmt.Fprintf(output, "%s: %v\n", program, err)
	output.Flush(LastLines)
	return code
}

// backlog is the number of lines that are buffered while the log is blocked. Further lines are dropped.
const backlog = 1024

// Detached writes log lines in the background. A log that is blocked, because the runtime that reads it is down or its
// disk hangs, must not delay the report of a worker's death.
type Detached struct {
	lines     chan []byte
	unwritten atomic.Int64 // lines in the channel and the one that is being written
}

// Detach starts writing to w in the background. It continues until the process exits.
func Detach(w io.Writer) *Detached {
	d := &Detached{lines: make(chan []byte, backlog)}
	go func() {
		for line := range d.lines {
			_, _ = w.Write(line) // there is nowhere else to report the error
			d.unwritten.Add(-1)
		}
	}()
	return d
}

// Write never blocks and never fails.
func (d *Detached) Write(p []byte) (int, error) {
	d.unwritten.Add(1)
	select {
	case d.lines <- bytes.Clone(p):
	default:
		d.unwritten.Add(-1)
	}
	return len(p), nil
}

// Flush returns when all lines have been written, or after the given time.
func (d *Detached) Flush(most time.Duration) {
	for end := time.Now().Add(most); d.unwritten.Load() > 0 && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
}
