package valkey

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
)

// Rounds keeps groups by the functions of package rounds. It is safe for concurrent use.
type Rounds struct{ store *Store }

var (
	_ rounds.Members = Rounds{}
	_ rounds.Leader  = Rounds{}
)

// NewRounds checks the options; it does not connect.
func NewRounds(o Options) (Rounds, error) {
	s, err := New(o)
	return Rounds{s}, err
}

// Close ends the connections for calls; a Watch ends with its context.
func (r Rounds) Close() error { return r.store.Close() }

// Load loads the functions into the server, in place of other ones of this protocol version.
func (r Rounds) Load(ctx context.Context) error {
	loaded, err := r.store.client.FunctionList(ctx, redis.FunctionListQuery{LibraryNamePattern: rounds.LibraryName, WithCode: true}).Result()
	if err != nil {
		return fmt.Errorf("listing the store's functions: %w", unreachable(err))
	}
	if len(loaded) == 1 && loaded[0].Code == rounds.Library {
		return nil
	}
	if err := r.store.client.FunctionLoadReplace(ctx, rounds.Library).Err(); err != nil {
		return fmt.Errorf("loading the store's functions: %w", err)
	}
	return nil
}

// Call implements rounds.Members. The level is read in the same pipeline.
func (r Rounds) Call(ctx context.Context, group string, c rounds.Call) (string, rounds.Level, error) {
	var reply *redis.Cmd
	var level *redis.StringCmd
	state := rounds.KeysOf(group).State()
	_, err := r.store.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		reply = p.FCall(ctx, c.Function, []string{state}, c.Arguments...)
		level = p.GetRange(ctx, state, 0, rounds.MaxText)
		return nil
	})
	if err != nil {
		return "", rounds.Level{}, r.memberError(ctx, err)
	}
	text, err := reply.Text()
	if err != nil {
		return "", rounds.Level{}, foreign(group, err)
	}
	now, err := rounds.ParseLevel(level.Val())
	if err != nil {
		return "", rounds.Level{}, foreign(group, err)
	}
	return text, now, nil
}

// memberError reads a missing function as an empty store, which the leader has not filled yet, unless the store serves another
// version of the protocol.
func (r Rounds) memberError(ctx context.Context, err error) error {
	if !isMissingFunction(err) && !isNotPermitted(err) {
		return roundsError(err)
	}
	served, versionErr := r.store.client.FCall(ctx, rounds.FunctionVersion, nil).Text()
	switch {
	case versionErr == nil && served != rounds.Version:
		return &coordination.VersionError{Store: served}
	case isMissingFunction(err):
		return coordination.ErrNoGroup
	}
	return roundsError(err)
}

func roundsError(err error) error {
	var reply redis.Error
	if errors.As(err, &reply) {
		if known := rounds.Error(reply.Error()); known != nil {
			return known
		}
	}
	return unreachable(err)
}

func foreign(group string, err error) error {
	return &coordination.ForeignValueError{Key: rounds.KeysOf(group).State(), Value: err.Error()}
}

// Bounds implements rounds.Members.
func (r Rounds) Bounds(ctx context.Context, group, slot string) (rounds.Bounds, error) {
	prefix := slot
	for range 2 { // -JOB-POD
		prefix = prefix[:max(0, strings.LastIndex(prefix, "-"))]
	}
	fields, err := r.store.client.HMGet(ctx, rounds.KeysOf(group).Config(), "inc", "u:"+prefix).Result()
	switch {
	case err != nil:
		return rounds.Bounds{}, roundsError(err)
	case fields[0] == nil:
		return rounds.Bounds{}, coordination.ErrNoGroup
	case fields[1] == nil:
		return rounds.Bounds{}, fmt.Errorf("%w: %.80q", coordination.ErrUnknownSlot, slot)
	}
	b, err := rounds.ParseBounds(prefix, fields[1].(string))
	if err != nil {
		return rounds.Bounds{}, foreign(group, err)
	}
	if !b.Has(slot) {
		return rounds.Bounds{}, fmt.Errorf("%w: %.80q", coordination.ErrUnknownSlot, slot)
	}
	return b, nil
}

// Watch implements rounds.Members. on runs in the caller's goroutine; while it blocks nothing is received.
func (r Rounds) Watch(ctx context.Context, group string, on func(rounds.Observation)) {
	w := watch{
		store: r.store, channel: rounds.KeysOf(group).Channel(), resync: true,
		read: func(ctx context.Context) error {
			text, err := r.store.client.GetRange(ctx, rounds.KeysOf(group).State(), 0, rounds.MaxText).Result()
			switch {
			case isWrongType(err):
				on(rounds.Observation{Read: true, Err: foreign(group, err)})
			case err != nil:
				return unreachable(err)
			case text == "":
				on(rounds.Observation{Read: true, Err: coordination.ErrNoGroup})
			default:
				on(observed(group, text, true))
			}
			return nil
		},
		message: func(m *redis.Message) { on(observed(group, m.Payload, false)) },
		lost:    func(err error) { on(rounds.Observation{Err: err}) },
	}
	w.run(ctx)
}

func observed(group, text string, read bool) rounds.Observation {
	level, err := rounds.ParseLevel(text)
	if err != nil {
		return rounds.Observation{Read: read, Err: foreign(group, err)}
	}
	return rounds.Observation{Level: level, Read: read}
}
