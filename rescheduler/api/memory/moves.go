package memory

import (
	"slices"
	"time"
)

const (
	// MaxMoves bounds the history. A move that falls out of it still counts, and is never given back.
	MaxMoves = 64
	// historyKept is how long a move that was given back still speaks against its slot.
	historyKept = 7 * 24 * time.Hour
)

// Move is one move that the workload was charged for.
type Move struct {
	Slot  string    `json:"slot,omitempty"` // identity of the pod that failed; empty: it has none
	Node  string    `json:"node"`
	Class string    `json:"class"`
	At    time.Time `json:"at"`
	// Returned: the slot has run well since, and the move does not count any more.
	Returned bool `json:"returned,omitempty"`
}

// valid reports whether a move that was read has the bounds of those that are written.
func (m Move) valid() bool {
	return max(len(m.Node), len(m.Slot), len(m.Class)) <= maxText+maxNodeName && !m.At.IsZero() && writable(m.At)
}

// Charge counts one move.
func (m Memory) Charge(move Move) Memory {
	move.At = move.At.UTC().Truncate(time.Second)
	m.Times++
	m.Moves = append(slices.Clip(m.Moves), move)
	m.Moves = m.Moves[max(0, len(m.Moves)-MaxMoves):]
	return m
}

// LastMove is when a slot was last charged for a move that it has not given back; zero: it owes none.
func (m Memory) LastMove(slot string) (last time.Time) {
	for _, move := range m.Moves {
		if move.Slot == slot && !move.Returned && move.At.After(last) {
			last = move.At
		}
	}
	return last
}

// Return gives back the moves of one slot, which has run well for long enough. Other slots still owe theirs.
func (m Memory) Return(slot string) Memory {
	m.Moves = slices.Clone(m.Moves)
	for i := range m.Moves {
		if m.Moves[i].Slot == slot && !m.Moves[i].Returned {
			m.Moves[i].Returned = true
			m.Times = max(0, m.Times-1)
			m.Exhausted = false
		}
	}
	return m
}

// FailedOn returns the nodes that a slot was moved from for failures of one class, whether the moves were given back or not.
func (m Memory) FailedOn(slot, class string) map[string]bool {
	nodes := map[string]bool{}
	for _, move := range m.Moves {
		if move.Slot == slot && move.Class == class {
			nodes[move.Node] = true
		}
	}
	return nodes
}
