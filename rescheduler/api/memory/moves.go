package memory

import (
	"slices"
	"time"
)

const (
	// MaxMoves limits the history. A move that is dropped from it still counts and is never returned.
	MaxMoves = 64
	// historyKept is how long a returned move stays in the history of its slot.
	historyKept = 7 * 24 * time.Hour
)

// Move is one move that the workload was charged for.
type Move struct {
	Slot  string    `json:"slot,omitempty"` // identity of the pod that failed; empty if it has none
	Node  string    `json:"node"`
	Class string    `json:"class"`
	At    time.Time `json:"at"`
	// Returned means that the slot has been healthy since, so that the move no longer counts.
	Returned bool `json:"returned,omitempty"`
}

// valid reports whether a parsed move is within the limits of those that are written.
func (m Move) valid() bool {
	return max(len(m.Node), len(m.Slot), len(m.Class)) <= maxText+maxNodeName && !m.At.IsZero() && writable(m.At)
}

// Charge returns m with one more move.
func (m Memory) Charge(move Move) Memory {
	move.At = move.At.UTC().Truncate(time.Second)
	m.Times++
	m.Moves = append(slices.Clip(m.Moves), move)
	m.Moves = m.Moves[max(0, len(m.Moves)-MaxMoves):]
	return m
}

// LastMove returns when a slot was last charged for a move that it has not returned, or zero if there is none.
func (m Memory) LastMove(slot string) (last time.Time) {
	for _, move := range m.Moves {
		if move.Slot == slot && !move.Returned && move.At.After(last) {
			last = move.At
		}
	}
	return last
}

// Return returns the moves of one slot, which has been healthy for long enough. It does not affect other slots.
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
