package rounds

import (
	"context"
	"errors"
	"fmt"

	"github.com/holdfast-project/holdfast/shared/coordination"
)

// Observation is one update that Members.Watch delivers.
type Observation struct {
	Level Level
	Read  bool  // the level was read, so it is what the store holds; else it was published and may be late
	Err   error // coordination.ErrNoGroup, ErrForeignValue, or why the store is unreachable; Level is then empty
}

// Place is what the leader says of a slot.
type Place struct {
	Bounds
	Limit int64 // highest round that the budget allows
}

// Members is what agents use of a store. A group is named by the UID of its owner. Calls are atomic and safe to repeat.
type Members interface {
	// Call runs a function. now is the level right after it.
	Call(ctx context.Context, group string, c Call) (reply string, now Level, err error)
	// Place returns what the leader says of a slot; coordination.ErrUnknownSlot: the group has no such slot.
	Place(ctx context.Context, group, slot string) (Place, error)
	// Level reads the level; coordination.ErrNoGroup: the store holds no such group.
	Level(ctx context.Context, group string) (Level, error)
	// Watch calls on until ctx ends: after every (re)connection and at intervals with a level that was read, in between with
	// levels that were published. It reconnects by itself.
	Watch(ctx context.Context, group string, on func(Observation))
}

// Stored is a group as the store holds it.
type Stored struct {
	State    State
	Config   Config
	Joined   []int64 // slots that have joined the round, by unit
	Finished []int64 // slots whose workers have finished, by unit
	// Lines of the history: of the round, and of a failure that was answered by no further round. What is forged is left out.
	Lines []Line
}

// ParseStored reads the state and the hash of the configuration, which have to fit each other as the functions demand. The counts and
// the lines are left to the caller.
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
	return &Stored{State: s, Config: c}, nil
}

// Leader is what the leader uses of a store.
type Leader interface {
	// Read returns a group; nil if the store holds none. Unreadable data are coordination.ErrForeignValue.
	Read(ctx context.Context, group string) (*Stored, error)
	// Set writes a group after it has entered finished workers. It reports false if the state has moved on from seq. The line, if it is not
	// nil, is added to the history with the store's time as its OpenedAt.
	Set(ctx context.Context, group string, seq int64, s State, c Config, finished []FinishedSlot, line *Line) (bool, error)
	// Release fences a pod and answers the death of its instance. failed is the slot for whose sake that happens, mostly its own.
	Release(ctx context.Context, group string, t coordination.Token, l Level, unit int, s Slot, failed string) error
	// Holders returns the UID of the pod that holds each of the slots; a slot that nobody holds is left out.
	Holders(ctx context.Context, group string, generation int64, slots []string) (map[string]string, error)
	// Missing returns which of the slots have not joined the round.
	Missing(ctx context.Context, group string, l Level, unit int, slots []string) ([]string, error)
	// HaveFinished returns those of the slots whose workers have finished in the round.
	HaveFinished(ctx context.Context, group string, l Level, unit int, slots []string) ([]string, error)
	// History returns the lines of the last rounds, in no order.
	History(ctx context.Context, group string) ([]Line, error)
	// Drop removes all that is stored of a group.
	Drop(ctx context.Context, group string) error
	// Tidy removes tables of rounds that are over, which late reports have left, and returns how many bytes each group takes.
	Tidy(ctx context.Context) (map[string]int64, error)
	// Groups lists the UIDs of all groups that are stored.
	Groups(ctx context.Context) ([]string, error)
	// WatchAll calls on with the UID of each group that changes until ctx ends, and with "" after every (re)connection: whatever
	// happened before was not seen, so read everything. Messages may be lost: read at intervals too.
	WatchAll(ctx context.Context, on func(group string))
}

// FinishedSlot is a slot whose worker has finished, as the owner's Jobs say.
type FinishedSlot struct {
	Unit int
	Slot string
}
