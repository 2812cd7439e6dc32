package rounds

import (
	"context"
	"errors"
	"fmt"

	"github.com/holdfast-project/holdfast/shared/coordination"
)

// Observation is an update that Members.Watch delivers.
type Observation struct {
	Level Level
	Read  bool  // the level was read, so it is what the store has; otherwise it was published and may be late
	Err   error // coordination.ErrNoGroup, ErrForeignValue, or why the store is unreachable; Level is then empty
}

// Members is how agents use a store. The name of a group is the UID of its owner. Calls are atomic and safe to repeat.
type Members interface {
	// Call calls a function. now is the level right after it.
	Call(ctx context.Context, group string, c Call) (reply string, now Level, err error)
	// Place returns what the leader has written about a pod. own is the slot for which the pod was created, or the name of a spare. It
	// returns coordination.ErrUnknownSlot if the group has no such slot.
	Place(ctx context.Context, group string, own Slot) (Place, error)
	// Level reads the level. It returns coordination.ErrNoGroup if the store has no such group.
	Level(ctx context.Context, group string) (Level, error)
	// Watch calls on until ctx ends: with a level that was read, after every (re)connection and at intervals, and with each
	// published level in between. It reconnects by itself.
	Watch(ctx context.Context, group string, on func(Observation))
}

// Stored is a group as the store has it.
type Stored struct {
	Text     string // of the state, as it is stored: a member can write one that no function writes
	State    State
	Config   Config
	Joined   []int64 // slots that have joined the round, by unit
	Finished []int64 // slots whose workers have finished, by unit
	// Lines are the history lines of the current round, and of a failure that no further round answered. Forged lines are left out.
	Lines []Line
}

// ParseStored parses the state and the hash of the configuration, which must be consistent. It does not set the counts and the
// lines.
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

// Leader is how the leader uses a store.
type Leader interface {
	// Read returns a group, or nil if the store has none. It returns coordination.ErrForeignValue if the data is unreadable.
	Read(ctx context.Context, group string) (*Stored, error)
	// Set writes a group after it has recorded finished workers. It returns false if the stored state is no longer the one before,
	// which is empty if there is no group. A line that is not nil is added to the history, with the store's time as its OpenedAt.
	Set(ctx context.Context, group, before string, s State, c Config, finished []FinishedSlot, line *Line) (bool, error)
	// Release fences a pod and answers the death of its instance. cause is what the history says of that, see LostPod. heir is a pod
	// without a slot, which gets this one if no other pod holds it then, and the name of its own slot; zero if there is none. If s names no pod, the slot is only given.
	Release(ctx context.Context, group string, t coordination.Token, l Level, unit int, s Slot, cause string, heir Slot) error
	// Look returns what a table of the group has for each of the slots; see Keys. A slot without a value is left out.
	Look(ctx context.Context, group, table string, slots []string) (map[string]string, error)
	// History returns the lines of the last rounds, in no particular order.
	History(ctx context.Context, group string) ([]Line, error)
	// Drop removes all data of a group.
	Drop(ctx context.Context, group string) error
	// Tidy removes tables of past rounds, which late reports have left, and returns the size of each group in bytes.
	Tidy(ctx context.Context) (map[string]int64, error)
	// Groups returns the UIDs of all stored groups.
	Groups(ctx context.Context) ([]string, error)
	// WatchAll calls on until ctx ends: with the UID of each group that changes, and with "" after every (re)connection, when all
	// groups should be read because earlier changes were missed. Messages may be lost, so groups should be read at intervals, too.
	WatchAll(ctx context.Context, on func(group string))
}

// FinishedSlot is a slot whose worker has finished, according to the owner's Jobs.
type FinishedSlot struct {
	Unit int
	Slot string
}
