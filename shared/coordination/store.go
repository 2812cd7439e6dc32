package coordination

import "context"

// Store is the group protocol as agents and the leader use it. A group is named by the UID of its JobSet. All calls are
// atomic, safe to repeat, and safe for concurrent use.
type Store interface {
	Agent
	Leader
}

// Agent is what one worker's agent calls.
type Agent interface {
	// Join reports a living instance and returns its round.
	Join(ctx context.Context, group string, j Join) (Reply, error)
	// Down reports a death.
	Down(ctx context.Context, group string, d Down) (Reply, error)
	// Ask requests the recreation of the group, with one of the Kind constants as the reason.
	Ask(ctx context.Context, group string, m Member, kind string) (Reply, error)
	// Watch calls `on` for each change until ctx ends: after every (re)connection and at intervals with a level that was
	// read, in between with the levels that were broadcast. It reconnects by itself.
	Watch(ctx context.Context, group string, on func(Observation))
}

// Leader is what the orchestrator calls.
type Leader interface {
	// Open makes the group what o says; see Open.
	Open(ctx context.Context, group string, o Open) (Summary, error)
	// Recreate gives a round up: from Restarting(round) to Recreating, if the group is still there.
	Recreate(ctx context.Context, group string, t Token, epoch, round int64, kind string) (Summary, error)
	// Evict takes a pod out of its slot on evidence that it cannot run any more; see Group.Evict.
	Evict(ctx context.Context, group string, t Token, slot, pod string) (Summary, error)
	// Drop removes all that is stored of a group.
	Drop(ctx context.Context, group string, t Token) error
	// Summary reads the state of a group.
	Summary(ctx context.Context, group string) (Summary, error)
	// Missing lists the slots that have not joined the desired round, at most MissingLimit. It costs the store a look at
	// every slot.
	Missing(ctx context.Context, group string) ([]string, error)
	// Fenced are those of the pods, given by UID, that may not act any more, in the order given: whatever they report is refused.
	Fenced(ctx context.Context, group string, pods []string) ([]string, error)
	// History returns the finished restarts, oldest first, at most HistoryLength.
	History(ctx context.Context, group string) ([]Record, error)
	// Groups lists all groups that are stored.
	Groups(ctx context.Context) ([]string, error)
	// WatchAll calls `on` with the UID of each group that changes until ctx ends, and with "" after every (re)connection:
	// whatever happened meanwhile was not seen, so read everything. Messages may be lost: read at intervals too.
	WatchAll(ctx context.Context, on func(group string))
}

// Observation is one thing Watch saw.
type Observation struct {
	Level Level
	Read  bool  // the level was read, so it is what the store holds; else it was broadcast and may be late
	Err   error // ErrNoGroup, ErrForeignValue, or why the store is unreachable; Level is then empty
}
