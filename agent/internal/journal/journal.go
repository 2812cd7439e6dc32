// Package journal is where an agent tells what happens: its log, and the last message of its container.
package journal

import (
	"io"
	"log/slog"
	"os"
)

// TerminationLog is where the kubelet takes a container's last message from.
const TerminationLog = "/dev/termination-log"

// New returns the agent's log: a JSON object per line, times in UTC with milliseconds, so that the logs of a group can
// be merged by time.
func New(w io.Writer, level slog.Level) *slog.Logger {
	return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: level, ReplaceAttr: milliseconds}))
}

func milliseconds(groups []string, a slog.Attr) slog.Attr {
	if a.Key == slog.TimeKey && len(groups) == 0 {
		return slog.String(slog.TimeKey, a.Value.Time().UTC().Format("2006-01-02T15:04:05.000Z"))
	}
	return a
}

// Terminate leaves a last message for `kubectl describe pod`, if there is a place for it.
func Terminate(path, message string) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return
	}
	defer f.Close()
	io.WriteString(f, message+"\n") //nolint:errcheck // no place is left to report the error
}
