package simulation

import (
	"fmt"
	"strings"
	"time"
)

// transcript records what happened, line by line, if it is on.
type transcript struct {
	on    bool
	lines []string
}

// note records what an actor did.
func (w *world) note(who, format string, args ...any) {
	if w.log.on {
		w.log.lines = append(w.log.lines, fmt.Sprintf("%s  %-14s %s", stamp(w.now), who, fmt.Sprintf(format, args...)))
	}
}

// stamp formats a time in the history, in seconds.
func stamp(t time.Duration) string { return fmt.Sprintf("%9.3f", t.Seconds()) }

func (t *transcript) String() string { return strings.Join(t.lines, "\n") }
