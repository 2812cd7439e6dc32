package valkey

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
)

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

// PlaceAll returns the places of several pods, with an error for each.
func (s *Store) PlaceAll(ctx context.Context, group string, own []rounds.Slot) (places []rounds.Place, errs []error) {
	places, errs = make([]rounds.Place, len(own)), make([]error, len(own))
	values := make([]*redis.SliceCmd, len(own))
	_, _ = s.client.Pipelined(ctx, func(p redis.Pipeliner) error { // each reply has its own error
		for i, slot := range own {
			values[i] = p.HMGet(ctx, rounds.KeysOf(group).Config(), rounds.PlaceFields(slot)...)
		}
		return nil
	})
	for i, slot := range own {
		places[i], errs[i] = placeOf(slot, values[i])
	}
	return places, errs
}
