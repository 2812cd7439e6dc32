package valkey

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
)

var (
	_ rounds.Members = (*Store)(nil)
	_ rounds.Leader  = (*Store)(nil)
)

// Call implements rounds.Members.
func (s *Store) Call(ctx context.Context, group string, c rounds.Call) (string, rounds.Level, error) {
	reply, now, err := s.call(ctx, group, c)
	if err != nil {
		return "", rounds.Level{}, err
	}
	text, err := reply.Text()
	if err != nil {
		return "", rounds.Level{}, foreign(group, err)
	}
	return text, now, nil
}

// call calls a function and reads the level in the same pipeline.
func (s *Store) call(ctx context.Context, group string, c rounds.Call) (reply *redis.Cmd, now rounds.Level, err error) {
	var level *redis.StringCmd
	state := rounds.KeysOf(group).State()
	_, err = s.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		reply = p.FCall(ctx, c.Function, []string{state}, c.Arguments...)
		level = p.GetRange(ctx, state, 0, rounds.MaxText)
		return nil
	})
	if err != nil {
		return nil, rounds.Level{}, s.memberError(ctx, err)
	}
	if now, err = rounds.ParseLevel(level.Val()); err != nil {
		return nil, rounds.Level{}, foreign(group, err)
	}
	return reply, now, nil
}

// Place implements rounds.Members.
func (s *Store) Place(ctx context.Context, group string, own rounds.Slot) (rounds.Place, error) {
	return placeOf(own, s.client.HMGet(ctx, rounds.KeysOf(group).Config(), rounds.PlaceFields(own)...))
}

func placeOf(own rounds.Slot, reply *redis.SliceCmd) (rounds.Place, error) {
	values, err := reply.Result()
	if err != nil {
		return rounds.Place{}, protocolError(err)
	}
	texts := make([]string, len(values))
	for i, v := range values {
		texts[i], _ = v.(string)
	}
	return rounds.PlaceOf(own, texts)
}

// Hosts returns the host names of the workers in the given slots, by slot. It omits slots that are not assigned to a pod, because their
// workers run in pods with the slot's name.
func (s *Store) Hosts(ctx context.Context, group string, slots []string) (map[string]string, error) {
	values, err := s.client.HMGet(ctx, rounds.KeysOf(group).Config(), rounds.HomeFields(slots)...).Result()
	if err != nil {
		return nil, protocolError(err)
	}
	hosts := map[string]string{}
	for i, v := range values {
		if host, _ := v.(string); host != "" {
			hosts[slots[i]] = host
		}
	}
	return hosts, nil
}

// Level implements rounds.Members.
func (s *Store) Level(ctx context.Context, group string) (rounds.Level, error) {
	text, err := s.client.GetRange(ctx, rounds.KeysOf(group).State(), 0, rounds.MaxText).Result()
	switch {
	case err != nil:
		return rounds.Level{}, s.memberError(ctx, err)
	case text == "":
		return rounds.Level{}, s.noGroup(ctx)
	}
	l, err := rounds.ParseLevel(text)
	if err != nil {
		return rounds.Level{}, foreign(group, err)
	}
	return l, nil
}

// Watch implements rounds.Members. on runs in the caller's goroutine. While it blocks, nothing is received.
func (s *Store) Watch(ctx context.Context, group string, on func(rounds.Observation)) {
	w := watch{
		store: s, channel: rounds.KeysOf(group).Channel(), resync: true,
		read: func(ctx context.Context) (func(), error) {
			level, err := s.Level(ctx, group)
			if err != nil && !isAnswer(err) {
				return nil, err
			}
			return func() { on(rounds.Observation{Level: level, Read: true, Err: err}) }, nil
		},
		message: func(m *redis.Message) {
			level, err := rounds.ParseLevel(m.Payload)
			if err != nil {
				err = &coordination.ForeignValueError{Key: m.Channel, Field: coordination.FieldMessage, Value: m.Payload}
			}
			on(rounds.Observation{Level: level, Err: err})
		},
		lost: func(err error) { on(rounds.Observation{Err: err}) },
	}
	w.run(ctx)
}

// isAnswer reports whether an error means that the store has answered but has no readable level.
func isAnswer(err error) bool {
	var version *coordination.VersionError
	return errors.Is(err, coordination.ErrNoGroup) || errors.Is(err, coordination.ErrForeignValue) || errors.As(err, &version)
}
