package relay

import (
	"slices"

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

// Add adds the join of a member. If solo is true, the join must not share a call with others.
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
