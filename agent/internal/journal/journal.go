// Package journal is how an agent reports what happens: its log and its container's termination message.
package journal

import (
	"io"
	"log/slog"
	"os"
)

// TerminationLog is the file from which the kubelet reads a container's termination message.
const TerminationLog = "/dev/termination-log"

// New returns the agent's log. It has one JSON object per line, with times in UTC and milliseconds, so that the logs of
// a group can be merged by time.
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
// is absent.
func Terminate(path, message string) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return
	}
	defer f.Close()
	io.WriteString(f, message+"\n") //nolint:errcheck // no place is left to report the error
}
