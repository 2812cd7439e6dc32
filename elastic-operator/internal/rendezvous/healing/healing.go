// Package healing decides when to reopen a rendezvous that was closed by an agent. It performs no I/O.
//
// In torch a closed rendezvous stays closed. An agent closes it when it leaves (torch 2.3 to 2.7) or has exhausted its restarts (all
// versions). All other agents, including replacements, then fail at the next rendezvous. This is wrong if the job should continue, so the
// server reopens the rendezvous. However, agents also close it when the training is complete. In this case it must stay closed long enough
// for waiting agents to learn that there will be no further round.
package healing

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// Agents write keys with the prefix terminal when their workers have terminated. Up to torch 2.5 there is one key per rank. Later versions
// use a counter, and the last agent writes the key named by last.
const (
	terminal = "torchelastic/agent/terminal_state"
	last     = terminal + "/last_member"
)

// Ended reports whether all agents of a round have terminated, based on the names of its keys.
func Ended(names []string, participants int) bool {
	n := 0
	for _, name := range names {
		rank, found := strings.CutPrefix(name, terminal)
		if _, err := strconv.ParseUint(rank, 10, 31); found && err == nil {
			n++
		}
	}
	return participants > 0 && n >= participants || slices.Contains(names, last)
}

// Settings configures when a rendezvous is reopened.
type Settings struct {
	// Grace is how long a rendezvous stays closed after all its agents have terminated, so that waiting agents learn about it. It is short,
	// because the agents may all have failed.
	Grace time.Duration
	// Gap is the minimum time between two reopenings of the same rendezvous.
	Gap time.Duration
}

// Reason is why a rendezvous is reopened.
type Reason string

// Reasons to reopen a rendezvous.
const (
	// Left means that an agent closed the rendezvous while others were still training.
	Left Reason = "an agent left while others are training"
	// NotDone means that all agents have terminated, but the job has not finished.
	NotDone Reason = "all agents terminated but the job has not finished"
)

// Decide returns the time at which to reopen a rendezvous that was observed to be closed at the given time, and the reason. ended reports
// whether all its agents have terminated. opened is when it was last reopened, or zero. The returned time may be in the past.
func Decide(closed, opened time.Time, ended bool, s Settings) (at time.Time, reason Reason) {
	at, reason = closed, Left
	if ended {
		at, reason = closed.Add(s.Grace), NotDone
	}
	if next := opened.Add(s.Gap); next.After(at) {
		at = next
	}
	return at, reason
}
