package valkey

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-project/holdfast/shared/coordination"
)

// Open implements coordination.Leader. A Reset needs an incarnation of its own: one that the store holds already is
// taken for a repetition of the call that wrote it.
func (s *Store) Open(ctx context.Context, group string, o coordination.Open) (coordination.Summary, error) {
	args := []any{
		formatToken(o.Token), o.Incarnation, o.Epoch, o.Limit, formatStages(o.Stages),
		bit(o.Suspended), bit(o.Recover), bit(o.Reset),
	}
	for _, slot := range o.Done {
		args = append(args, slot)
	}
	summary, err := s.summary(ctx, functionOpen, group, args...)
	if err != nil {
		return coordination.Summary{}, err
	}
	// The index is on another node of a cluster. A crash in between is mended by the next opening.
	if err := s.client.SAdd(ctx, indexKey, group).Err(); err != nil {
		return coordination.Summary{}, unreachable(err)
	}
	return summary, nil
}

// Recreate implements coordination.Leader.
func (s *Store) Recreate(ctx context.Context, group string, t coordination.Token, epoch, round int64, kind string) (coordination.Summary, error) {
	return s.summary(ctx, functionRecreate, group, formatToken(t), epoch, round, kind)
}

// Evict implements coordination.Leader.
func (s *Store) Evict(ctx context.Context, group string, t coordination.Token, slot, pod string) (coordination.Summary, error) {
	return s.summary(ctx, functionEvict, group, formatToken(t), slot, pod)
}

// Missing implements coordination.Leader.
func (s *Store) Missing(ctx context.Context, group string) ([]string, error) {
	cmd, err := s.asLeader(ctx, functionMissing, group)
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
		exists = p.Exists(ctx, stateKey(group))
		for i, pod := range pods {
			asked[i] = p.SIsMember(ctx, fencedKey(group), pod)
		}
		return nil
	})
	switch {
	case isWrongType(err):
		return nil, &coordination.ForeignValueError{Key: fencedKey(group), Value: err.Error()}
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

// Rejected implements coordination.Leader. What is no count stands for none: nothing is decided by it.
func (s *Store) Rejected(ctx context.Context, group string) (int64, error) {
	values, err := s.client.HMGet(ctx, stateKey(group), "inc", rejectedField).Result()
	switch {
	case isWrongType(err):
		return 0, &coordination.ForeignValueError{Key: stateKey(group), Value: err.Error()}
	case err != nil:
		return 0, unreachable(err)
	case values[0] == nil:
		return 0, coordination.ErrNoGroup
	}
	text, _ := values[1].(string)
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 || n > coordination.MaxCount {
		return 0, nil
	}
	return n, nil
}

// Summary implements coordination.Leader.
func (s *Store) Summary(ctx context.Context, group string) (coordination.Summary, error) {
	return s.summary(ctx, functionSummary, group)
}

func (s *Store) summary(ctx context.Context, function, group string, args ...any) (coordination.Summary, error) {
	cmd, err := s.asLeader(ctx, function, group, args...)
	if err != nil {
		return coordination.Summary{}, err
	}
	fields, err := cmd.StringSlice()
	if err != nil {
		return coordination.Summary{}, fmt.Errorf("%w: %v", coordination.ErrForeignValue, err)
	}
	return parseSummary(s.options.version, fields)
}

// Drop implements coordination.Leader. What cannot be read is dropped as well.
func (s *Store) Drop(ctx context.Context, group string, t coordination.Token) error {
	_, err := s.asLeader(ctx, functionDrop, group, formatToken(t))
	if err != nil {
		return err
	}
	if err := s.client.SRem(ctx, indexKey, group).Err(); err != nil {
		return unreachable(err)
	}
	return nil
}

// History implements coordination.Leader.
func (s *Store) History(ctx context.Context, group string) ([]coordination.Record, error) {
	size, err := s.client.MemoryUsage(ctx, historyKey(group), allSamples).Result()
	if err != nil && err != redis.Nil {
		return nil, unreachable(err)
	}
	if size > maxHistory {
		return nil, &coordination.ForeignValueError{Key: historyKey(group), Value: fmt.Sprint(size, " bytes")}
	}
	var exists *redis.IntCmd
	var list *redis.StringSliceCmd
	_, err = s.client.TxPipelined(ctx, func(p redis.Pipeliner) error {
		exists = p.Exists(ctx, stateKey(group))
		list = p.LRange(ctx, historyKey(group), -coordination.HistoryLength, -1)
		return nil
	})
	switch {
	case isWrongType(err):
		return nil, &coordination.ForeignValueError{Key: historyKey(group), Value: err.Error()}
	case err != nil:
		return nil, unreachable(err)
	case exists.Val() == 0:
		return nil, coordination.ErrNoGroup
	}
	return parseHistory(group, list.Val())
}

// maxHistory is more bytes than a history can have; what members have put there is not read.
const maxHistory = 1 << 20

// Groups implements coordination.Leader.
func (s *Store) Groups(ctx context.Context) ([]string, error) {
	groups, err := s.client.SMembers(ctx, indexKey).Result()
	if isWrongType(err) {
		return nil, &coordination.ForeignValueError{Key: indexKey, Value: err.Error()}
	}
	if err != nil {
		return nil, unreachable(err)
	}
	slices.Sort(groups)
	return groups, nil
}
