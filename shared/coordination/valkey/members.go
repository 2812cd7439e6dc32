package valkey

import (
	"context"
	"errors"
	"slices"
	"time"

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

// Observe implements rounds.Members.
func (s *Store) Observe(ctx context.Context, group string, own rounds.Slot) rounds.Observation {
	return s.ObserveAll(ctx, group, []rounds.Slot{own})[0]
}

// ObserveAll reads the level once, and the places of several pods.
func (s *Store) ObserveAll(ctx context.Context, group string, own []rounds.Slot) []rounds.Observation {
	keys := rounds.KeysOf(group)
	var text *redis.StringCmd
	places := make([]*redis.SliceCmd, len(own))
	replies, err := s.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		text = p.GetRange(ctx, keys.State(), 0, rounds.MaxText)
		for i, slot := range own {
			places[i] = p.HMGet(ctx, keys.Config(), rounds.PlaceFields(slot)...)
		}
		return nil
	})
	failed := func(reply redis.Cmder) bool { return reply.Err() != nil }
	if err != nil && !slices.ContainsFunc(replies, failed) {
		text.SetErr(err) // there was no connection, which go-redis does not show in the replies
	}
	level, err := s.levelOf(ctx, group, text)
	all := make([]rounds.Observation, len(own))
	for i, slot := range own {
		o := rounds.Observation{Level: level, Err: err}
		if err == nil {
			o.Place, o.Err = placeOf(slot, places[i])
		}
		_, other := errors.AsType[*coordination.VersionError](o.Err)
		o.Read = other || coordination.IsReply(o.Err)
		all[i] = o
	}
	return all
}

func (s *Store) levelOf(ctx context.Context, group string, reply *redis.StringCmd) (rounds.Level, error) {
	text, err := reply.Result()
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

func placeOf(own rounds.Slot, reply *redis.SliceCmd) (*rounds.Place, error) {
	values, err := reply.Result()
	if err != nil {
		return nil, protocolError(err)
	}
	texts := make([]string, len(values))
	for n, v := range values {
		texts[n], _ = v.(string)
	}
	p, err := rounds.PlaceOf(own, texts)
	if err != nil {
		return nil, err
	}
	return &p, nil
}

// Watch implements rounds.Members. on runs in the caller's goroutine. No messages are received while it blocks.
func (s *Store) Watch(ctx context.Context, group string, own rounds.Slot, on func(rounds.Observation)) {
	w := watch{
		store: s, channel: rounds.KeysOf(group).Channel(), resync: true,
		read: func(ctx context.Context) (func(), error) {
			o := s.Observe(ctx, group, own)
			if !o.Read {
				return nil, o.Err
			}
			return func() { on(o) }, nil
		},
		message: func(m *redis.Message) {
			level, err := rounds.ParseLevel(m.Payload)
			if err != nil {
				err = &coordination.ForeignValueError{Key: m.Channel, Value: m.Payload}
			}
			on(rounds.Observation{Level: level, Err: err})
		},
		lost: func(err error) { on(rounds.Observation{Err: err}) },
	}
	w.run(ctx)
}

// JoinAll makes a call with the joins of several members, and returns a reply for each. now is the level right after the call.
func (s *Store) JoinAll(ctx context.Context, group string, c rounds.Call, members int) (replies []string, now rounds.Level, err error) {
	if members == 1 {
		reply, now, err := s.Call(ctx, group, c)
		return []string{reply}, now, err
	}
	reply, now, err := s.call(ctx, group, c)
	if err != nil {
		return nil, rounds.Level{}, err
	}
	if text, err := reply.Text(); err == nil && text == string(rounds.AnswerOver) { // one reply for all
		for range members {
			replies = append(replies, text)
		}
		return replies, now, nil
	}
	replies, err = reply.StringSlice()
	if err != nil || len(replies) != members {
		return nil, rounds.Level{}, foreign(group, errors.Join(err, errReplies))
	}
	return replies, now, nil
}

var errReplies = errors.New("want one reply for each member")

// Announce writes what members need to know about the relay in a slot. The text expires after life.
func (s *Store) Announce(ctx context.Context, group, slot, text string, life time.Duration) error {
	return protocolError(s.client.Set(ctx, rounds.KeysOf(group).Relay(slot), text, life).Err())
}

// Announced returns what the relay in a slot has announced, or "" if there is no relay.
func (s *Store) Announced(ctx context.Context, group, slot string) (string, error) {
	text, err := s.client.GetRange(ctx, rounds.KeysOf(group).Relay(slot), 0, rounds.MaxText).Result()
	return text, protocolError(err)
}
