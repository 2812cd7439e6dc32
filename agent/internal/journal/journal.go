// Package journal writes the log and the container termination message of an agent.
package journal

import (
	"bytes"
	"io"
	"log/slog"
	"os"
	"time"
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

// backlog is the number of lines that are buffered while the log is blocked. Further lines are dropped.
const backlog = 1024

// Detached writes log lines in the background. A log that is blocked, because the runtime that reads it is down or its
// disk hangs, must not delay the report of a worker's death.
type Detached struct{ lines chan line }

type line struct {
	text    []byte
	written chan<- struct{} // nil unless this is the marker that Flush waits for
}

// Detach starts writing to w in the background. It continues until the process exits.
func Detach(w io.Writer) *Detached {
	d := &Detached{make(chan line, backlog)}
	go func() {
		for l := range d.lines {
			if l.written != nil {
				close(l.written)
				continue
			}
			_, _ = w.Write(l.text) // there is nowhere else to report the error
		}
	}()
	return d
}

// Write never blocks and never fails.
func (d *Detached) Write(p []byte) (int, error) {
	select {
	case d.lines <- line{text: bytes.Clone(p)}:
	default:
	}
	return len(p), nil
}

// Flush returns when all earlier lines have been written, or after the given time.
func (d *Detached) Flush(most time.Duration) {
	late := time.After(most)
	written := make(chan struct{})
	select {
	case d.lines <- line{written: written}:
	case <-late:
		return
	}
	select {
	case <-written:
	case <-late:
	}
}
