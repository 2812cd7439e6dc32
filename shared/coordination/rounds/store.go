package rounds

import (
	"context"
	"errors"
	"fmt"

	"github.com/holdfast-project/holdfast/shared/coordination"
)

// Observation is what a member knows about its group.
type Observation struct {
	Level Level
	Place *Place // what the leader has decided about the pod, read after the level; nil if only the level was published
	Read  bool   // the store has replied; if false, the level was published and may be late
	Err   error  // coordination.ErrNoGroup, ErrUnknownSlot, ErrForeignValue, or the reason why the store is unreachable
}

// Members is the interface through which agents use a store. A group's name is the UID of its owner. Calls are atomic and safe to
// repeat.
type Members interface {
	// Call calls a function. now is the level right after the call.
	Call(ctx context.Context, group string, c Call) (reply string, now Level, err error)
	// Observe reads the level and a pod's place. own names the slot for which the pod was created, or the spare.
	Observe(ctx context.Context, group string, own Slot) Observation
	// Watch calls on until ctx ends: after every (re)connection and at intervals with what Observe returns, and in between with
	// each published level. It reconnects automatically.
	Watch(ctx context.Context, group string, own Slot, on func(Observation))
}

// Stored is a group as it is stored.
type Stored struct {
	Text     string // stored form of the state; a member may have written a form that no function would write
	State    State
	Config   Config
	Joined   []int64 // number of slots that have joined the round, by unit
	Finished []int64 // number of slots whose workers have finished, by unit
	// Lines are the history lines of the current round and of a failure that ended in-place restarts. Forged lines are omitted.
	Lines []Line
}

// ParseStored parses the state and the configuration hash, which must be consistent. It does not set Joined, Finished and Lines.
func ParseStored(state string, config map[string]string) (*Stored, error) {
	s, stateErr := ParseState(state)
	c, configErr := ParseConfig(config)
	if err := errors.Join(stateErr, configErr); err != nil {
		return nil, err
	}
	units := len(c.Units)
	same := s.Incarnation == c.Incarnation && s.Generation == c.Generation
	if !same || len(s.marks) != units || max(s.Started, s.Entered, s.Full) > units || max(s.Seq, s.Round) >= MaxCount {
		return nil, fmt.Errorf("state %.80q does not fit the group's %d units in incarnation %s of generation %d", state, units, c.Incarnation, c.Generation)
	}
	return &Stored{Text: state, State: s, Config: c}, nil
}

// Leader is the interface through which the leader uses a store.
type Leader interface {
	// Read returns a group, or nil if the store has none. It returns coordination.ErrForeignValue if the data is unreadable.
	Read(ctx context.Context, group string) (*Stored, error)
	// Set records finished workers and then writes a group. It returns false if the stored state no longer equals before, which is
	// empty if there must be no group. If line is not nil, it is added to the history with the store's time as OpenedAt.
	Set(ctx context.Context, group, before string, s State, c Config, finished []FinishedSlot, line *Line) (bool, error)
	// Release fences a pod and handles the death of its instance; see the function Release.
	Release(ctx context.Context, group string, t coordination.Token, l Level, unit int, s Slot, cause string, heir Slot) error
	// Look returns the value for each of the slots in one of the group's tables; see Keys. Slots without a value are omitted.
	Look(ctx context.Context, group, table string, slots []string) (map[string]string, error)
	// History returns the lines of the last rounds, in no particular order.
	History(ctx context.Context, group string) ([]Line, error)
	// Drop removes all of a group's data.
	Drop(ctx context.Context, group string) error
	// Tidy removes tables of past rounds that late reports have left behind. It returns the UIDs of all stored groups, with their
	// sizes in bytes.
	Tidy(ctx context.Context) (map[string]int64, error)
	// WatchAll calls on until ctx ends: with the UID of each group that changes, and with "" after every (re)connection. All
	// groups should then be read, because changes may have been missed. Since messages may be lost, groups should also be read at
	// intervals.
	WatchAll(ctx context.Context, on func(group string))
}

// FinishedSlot is a slot whose worker has finished, according to the owner's Jobs.
type FinishedSlot struct {
	Unit int
	Slot string
}
