package simulation

import (
	"fmt"
	"strings"
	"time"
)

// transcript is what happened, told line by line. Nothing is written unless somebody is going to read it.
type transcript struct {
	on    bool
	lines []string
}

// note tells what somebody did.
func (w *world) note(who, format string, args ...any) {
	if w.log.on {
		w.log.lines = append(w.log.lines, fmt.Sprintf("%s  %-14s %s", stamp(w.now), who, fmt.Sprintf(format, args...)))
	}
}

// stamp is a time of the history, in seconds.
func stamp(t time.Duration) string { return fmt.Sprintf("%9.3f", t.Seconds()) }

func (t *transcript) String() string { return strings.Join(t.lines, "\n") }
