package valkey

import (
	"context"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
)

var (
	_ rounds.Members = (*Store)(nil)
	_ rounds.Leader  = (*Store)(nil)
)

// Call implements rounds.Members. The level is read in the same pipeline.
func (s *Store) Call(ctx context.Context, group string, c rounds.Call) (string, rounds.Level, error) {
	var reply *redis.Cmd
	var level *redis.StringCmd
	state := rounds.KeysOf(group).State()
	_, err := s.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		reply = p.FCall(ctx, c.Function, []string{state}, c.Arguments...)
		level = p.GetRange(ctx, state, 0, rounds.MaxText)
		return nil
	})
	if err != nil {
		return "", rounds.Level{}, s.memberError(ctx, err)
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
func (s *Store) memberError(ctx context.Context, err error) error {
	if !isMissingFunction(err) && !isNotPermitted(err) {
		return protocolError(err)
	}
	if other := s.otherVersion(ctx); other != nil {
		return other
	}
	if isMissingFunction(err) {
		return coordination.ErrNoGroup
	}
	return protocolError(err)
}

// noGroup is why the store holds no state of a group: it serves another version of the protocol, or it has no such group.
func (s *Store) noGroup(ctx context.Context) error {
	if other := s.otherVersion(ctx); other != nil {
		return other
	}
	return coordination.ErrNoGroup
}

func foreign(group string, err error) error {
	return &coordination.ForeignValueError{Key: rounds.KeysOf(group).State(), Value: err.Error()}
}

// Place implements rounds.Members.
func (s *Store) Place(ctx context.Context, group, slot string) (rounds.Place, error) {
	stage := "u:" + rounds.StageOf(slot)
	values, err := s.client.HMGet(ctx, rounds.KeysOf(group).Config(), "inc", "limit", stage).Result()
	switch {
	case err != nil:
		return rounds.Place{}, protocolError(err)
	case values[0] == nil:
		return rounds.Place{}, coordination.ErrNoGroup
	}
	return rounds.PlaceOf(slot, func(field string) (string, bool) {
		text, found := values[map[string]int{"limit": 1, stage: 2}[field]].(string)
		return text, found
	})
}

// Watch implements rounds.Members. on runs in the caller's goroutine; while it blocks nothing is received.
func (s *Store) Watch(ctx context.Context, group string, on func(rounds.Observation)) {
	w := watch{
		store: s, channel: rounds.KeysOf(group).Channel(), resync: true,
		read: func(ctx context.Context) error {
			text, err := s.client.GetRange(ctx, rounds.KeysOf(group).State(), 0, rounds.MaxText).Result()
			switch {
			case isWrongType(err):
				on(rounds.Observation{Read: true, Err: foreign(group, err)})
			case err != nil:
				return s.memberError(ctx, err)
			case text == "":
				on(rounds.Observation{Read: true, Err: s.noGroup(ctx)})
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
