package relay

import (
	"fmt"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
)

// holdLimit limits how long a relay holds a join for members that have not joined the round yet. If one of them does not join, the store
// receives the joins of the others this much later.
const holdLimit = 50 * time.Millisecond

// Hold decides when a relay sends the joins that it has collected. A round starts with its last join, so a relay can hold the others
// until all its members have joined. The store then receives one call for all of them. The zero value holds nothing.
type Hold struct {
	round  string
	joined map[string]bool // members that have joined the round
	due    time.Time       // when to send what is held, at the latest; zero if nothing is held
}

// Joined records a join that the relay holds from now on.
func (h *Hold) Joined(now time.Time, c rounds.Call) {
	if round := fmt.Sprint(c.Arguments[:roundArguments]...); round != h.round {
		h.round, h.joined = round, map[string]bool{}
	}
	h.joined[fmt.Sprint(c.Arguments[roundArguments])] = true
	if h.due.IsZero() {
		h.due = now.Add(holdLimit)
	}
}

// Release makes the held joins due at once.
func (h *Hold) Release(now time.Time) { h.due = now }

// Due returns when to send the held joins to the store, or the zero time if none are held. members is the number of members that use
// the relay, including the relay itself.
func (h *Hold) Due(now time.Time, members int) time.Time {
	if !h.due.IsZero() && len(h.joined) >= members {
		return now
	}
	return h.due
}

// Sent records that held joins have been sent. more says whether others are still held.
func (h *Hold) Sent(now time.Time, more bool) {
	h.due = time.Time{}
	if more {
		h.due = now
	}
}
