package tree

import "time"

// Existence is what a write asks of the key before it.
type Existence int

// What a write may ask for.
const (
	Any Existence = iota
	Absent
	Present
)

// Write is a PUT.
type Write struct {
	Path  string
	Value string
	// Folder makes a folder, or changes the time of one.
	Folder bool
	// TTL is after how long the key expires; nil is never, which also ends the time of a key that had one. Zero and less is at once.
	TTL *time.Duration
	// Exist, PrevValue and PrevIndex have to hold before; an index of 0 asks for nothing.
	Exist     Existence
	PrevValue *string
	PrevIndex uint64
	// Refresh keeps the value, and tells no watcher.
	Refresh bool
}

func (w Write) compares() bool { return w.PrevValue != nil || w.PrevIndex != 0 }

// needs tells that the key has to be there.
func (w Write) needs() bool { return w.compares() || w.updates() }

func (w Write) updates() bool { return w.Exist == Present || w.Refresh }

// creates tells that the key is a new one, even where there was one.
func (w Write) creates() bool { return !w.needs() }

func (w Write) action() Action {
	switch {
	case w.compares():
		return ActionCompareAndSwap
	case w.updates():
		return ActionUpdate
	case w.Exist == Absent:
		return ActionCreate
	default:
		return ActionSet
	}
}

func (w Write) deadline(now time.Time) time.Time {
	if w.TTL == nil {
		return time.Time{}
	}
	return now.Add(*w.TTL)
}

// Removal is a DELETE.
type Removal struct {
	Path      string
	Folder    bool
	Recursive bool
	PrevValue *string
	PrevIndex uint64
}

func (d Removal) compares() bool { return d.PrevValue != nil || d.PrevIndex != 0 }
