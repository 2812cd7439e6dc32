package valkey

import (
	"context"
	"fmt"
	"slices"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/functions"
)

// Open implements coordination.Leader. A Reset needs an incarnation of its own: one that the store holds already is
// taken for a repetition of the call that wrote it.
func (s *Store) Open(ctx context.Context, group string, o coordination.Open) (coordination.Summary, error) {
	summary, err := s.summary(ctx, group, functions.Open(o))
	if err != nil {
		return coordination.Summary{}, err
	}
	// The index is on another node of a cluster. A crash in between is mended by the next opening.
	if err := s.client.SAdd(ctx, functions.IndexKey, group).Err(); err != nil {
		return coordination.Summary{}, unreachable(err)
	}
	return summary, nil
}

// Recreate implements coordination.Leader.
func (s *Store) Recreate(ctx context.Context, group string, t coordination.Token, epoch, round int64, kind string) (coordination.Summary, error) {
	return s.summary(ctx, group, functions.Recreate(t, epoch, round, kind))
}

// Evict implements coordination.Leader.
func (s *Store) Evict(ctx context.Context, group string, t coordination.Token, slot, pod string) (coordination.Summary, error) {
	return s.summary(ctx, group, functions.Evict(t, slot, pod))
}

// Missing implements coordination.Leader.
func (s *Store) Missing(ctx context.Context, group string) ([]string, error) {
	cmd, err := s.asLeader(ctx, group, functions.Missing())
	if err != nil {
		return nil, err
	}
	slots, err := cmd.StringSlice()
	if err != nil {
		return nil, fmt.Errorf("%w: %v", coordination.ErrForeignValue, err)
	}
	return slots, nil
}

// Fenced implements coordination.Leader. The commands are those that the functions use, so no user needs another rule.
func (s *Store) Fenced(ctx context.Context, group string, pods []string) ([]string, error) {
	var exists *redis.IntCmd
	asked := make([]*redis.BoolCmd, len(pods))
	_, err := s.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		exists = p.Exists(ctx, functions.StateKey(group))
		for i, pod := range pods {
			asked[i] = p.SIsMember(ctx, functions.FencedKey(group), pod)
		}
		return nil
	})
	switch {
	case isWrongType(err):
		return nil, &coordination.ForeignValueError{Key: functions.FencedKey(group), Value: err.Error()}
	case err != nil:
		return nil, unreachable(err)
	case exists.Val() == 0:
		return nil, coordination.ErrNoGroup
	}
	var fenced []string
	for i, pod := range pods {
		if asked[i].Val() {
			fenced = append(fenced, pod)
		}
	}
	return fenced, nil
}

// Summary implements coordination.Leader.
func (s *Store) Summary(ctx context.Context, group string) (coordination.Summary, error) {
	return s.summary(ctx, group, functions.Summary())
}

func (s *Store) summary(ctx context.Context, group string, call functions.Call) (coordination.Summary, error) {
	cmd, err := s.asLeader(ctx, group, call)
	if err != nil {
		return coordination.Summary{}, err
	}
	fields, err := cmd.StringSlice()
	if err != nil {
		return coordination.Summary{}, fmt.Errorf("%w: %v", coordination.ErrForeignValue, err)
	}
	return functions.ParseSummary(fields)
}

// Drop implements coordination.Leader. What cannot be read is dropped as well.
func (s *Store) Drop(ctx context.Context, group string, t coordination.Token) error {
	_, err := s.asLeader(ctx, group, functions.Drop(t))
	if err != nil {
		return err
	}
	if err := s.client.SRem(ctx, functions.IndexKey, group).Err(); err != nil {
		return unreachable(err)
	}
	return nil
}

// History implements coordination.Leader.
func (s *Store) History(ctx context.Context, group string) ([]coordination.Record, error) {
	size, err := s.client.MemoryUsage(ctx, functions.HistoryKey(group), allSamples).Result()
	if err != nil && err != redis.Nil {
		return nil, unreachable(err)
	}
	if size > maxHistory {
		return nil, &coordination.ForeignValueError{Key: functions.HistoryKey(group), Value: fmt.Sprint(size, " bytes")}
	}
	var exists *redis.IntCmd
	var list *redis.StringSliceCmd
	_, err = s.client.TxPipelined(ctx, func(p redis.Pipeliner) error {
		exists = p.Exists(ctx, functions.StateKey(group))
		list = p.LRange(ctx, functions.HistoryKey(group), -coordination.HistoryLength, -1)
		return nil
	})
	switch {
	case isWrongType(err):
		return nil, &coordination.ForeignValueError{Key: functions.HistoryKey(group), Value: err.Error()}
	case err != nil:
		return nil, unreachable(err)
	case exists.Val() == 0:
		return nil, coordination.ErrNoGroup
	}
	return functions.ParseHistory(group, list.Val())
}

// maxHistory is more bytes than a history can have; what members have put there is not read.
const maxHistory = 1 << 20

// Groups implements coordination.Leader.
func (s *Store) Groups(ctx context.Context) ([]string, error) {
	groups, err := s.client.SMembers(ctx, functions.IndexKey).Result()
	if isWrongType(err) {
		return nil, &coordination.ForeignValueError{Key: functions.IndexKey, Value: err.Error()}
	}
	if err != nil {
		return nil, unreachable(err)
	}
	slices.Sort(groups)
	return groups, nil
}
