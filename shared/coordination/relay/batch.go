package relay

import (
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
)

// Number of arguments of a join: for the round, then for each member.
const (
	roundArguments  = 4
	memberArguments = 6
)

// Batch collects joins while a store call is in progress. T identifies who is waiting for an answer.
type Batch[T any] struct {
	waiting []join[T]
	busy    bool
}

type join[T any] struct {
	who  T
	call rounds.Call
	solo bool
}

// Joins reports whether a call is a join of a single member. Only such calls can be relayed.
func Joins(c rounds.Call) bool {
	return c.Function == rounds.FunctionJoin && len(c.Arguments) == roundArguments+memberArguments
}

// Add adds a member's join. If solo is true, the join must not share a call with others.
func (b *Batch[T]) Add(who T, c rounds.Call, solo bool) {
	b.waiting = append(b.waiting, join[T]{who, c, solo})
}

// Waiting returns the number of joins that are not in a call yet.
func (b *Batch[T]) Waiting() int { return len(b.waiting) }

// Next returns the next call and who is waiting for its answers, in the order of the answers. It returns false if no one is
// waiting or a call is in progress. All members of a call join the same round.
func (b *Batch[T]) Next() (c rounds.Call, who []T, ok bool) {
	if b.busy || len(b.waiting) == 0 {
		return rounds.Call{}, nil, false
	}
	b.busy = true
	first := b.waiting[0]
	c = rounds.Call{Function: rounds.FunctionJoin, Arguments: slices.Clone(first.call.Arguments[:roundArguments])}
	b.waiting = slices.DeleteFunc(b.waiting, func(j join[T]) bool {
		full := len(who) > 0 && (first.solo || j.solo || len(who) == rounds.MaxBatch)
		if full || !slices.Equal(j.call.Arguments[:roundArguments], c.Arguments[:roundArguments]) {
			return false
		}
		c.Arguments = append(c.Arguments, j.call.Arguments[roundArguments:]...)
		who = append(who, j.who)
		return true
	})
	return c, who, true
}

// Done marks the call in progress as finished.
func (b *Batch[T]) Done() { b.busy = false }

// holdLimit limits how long a relay holds a join for members that have not joined the round yet. If one of them does not join, the store
// receives the joins of the others this much later.
const holdLimit = 50 * time.Millisecond

// Hold decides when a relay sends the joins that it has collected. A round starts with its last join, so a relay can hold the others
// until all its members have joined. The store then receives one call for all of them. The zero value holds nothing.
type Hold struct {
	round  string
	joined map[string]bool // members that have joined the round
	due    time.Time       // latest time to send the held joins; zero if none are held
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

// Release makes the held joins due immediately.
func (h *Hold) Release(now time.Time) { h.due = now }

// Due returns when to send the held joins to the store, or the zero time if none are held. members is the number of members that use the
// relay, including the relay itself.
func (h *Hold) Due(now time.Time, members int) time.Time {
	if !h.due.IsZero() && len(h.joined) >= members {
		return now
	}
	return h.due
}

// Sent records that held joins have been sent. more reports whether others are still held.
func (h *Hold) Sent(now time.Time, more bool) {
	h.due = time.Time{}
	if more {
		h.due = now
	}
}
