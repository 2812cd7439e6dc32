// Package healing decides whether a rendezvous that one of its agents has closed is opened again, and when. Pure.
//
// Torch closes a rendezvous for ever: an agent that leaves closes it (torch 2.3 to 2.7), one that has used up its restarts does (all versions), and
// all others, also those that the operator starts in its place, then fail when they next meet. As long as the job is to run, that is
// wrong, with one exception: a rendezvous is closed as well when the training is done, and agents that wait for a place then have to learn that there
// will be none.
package healing

import (
	"strconv"
	"strings"
	"time"
)

// terminal is what agents write under when their workers have ended: until torch 2.5 one key for each rank, then a count, and a
// last key when all are there.
const (
	terminal = "torchelastic/agent/terminal_state"
	last     = terminal + "/last_member"
)

// Terminal tells that a key of a round says something about agents at the end.
func Terminal(name string) bool { return strings.HasPrefix(name, terminal) }

// Ended counts, of the names of one round's keys, the agents whose workers have ended; all tells that it is all of the round's agents.
func Ended(names []string) (n int, all bool) {
	for _, name := range names {
		if name == last {
			all = true
			continue
		}
		if _, err := strconv.ParseUint(strings.TrimPrefix(name, terminal), 10, 31); err == nil && Terminal(name) {
			n++
		}
	}
	return n, all
}

// Settings of a server.
type Settings struct {
	// Grace is how long a rendezvous stays closed whose agents have all come to their end: time for those that wait to learn of it, and not for long,
	// because all may have failed together.
	Grace time.Duration
	// Gap is the least time between two times that the same rendezvous is opened.
	Gap time.Duration
}

// Closed is a rendezvous that is closed.
type Closed struct {
	At           time.Time // when it was seen to be closed
	Participants int
	Ended        int  // agents of the round whose workers have ended
	AllEnded     bool // is known without counting
	Opened       time.Time
}

// Reason says why a rendezvous is opened when it is.
type Reason string

// The reasons.
const (
	// Left: an agent has closed the rendezvous while others still trained.
	Left Reason = "an agent left while others train"
	// NotDone: all agents have ended, and the job has not.
	NotDone Reason = "all agents ended and the job did not"
)

// Decide returns when to open the rendezvous; a time that is past is now.
func Decide(c Closed, s Settings) (at time.Time, why Reason) {
	at, why = c.At, Left
	if c.AllEnded || c.Participants > 0 && c.Ended >= c.Participants {
		at, why = c.At.Add(s.Grace), NotDone
	}
	if next := c.Opened.Add(s.Gap); !c.Opened.IsZero() && next.After(at) {
		at = next
	}
	return at, why
}
