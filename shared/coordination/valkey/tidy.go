package valkey

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
)

const (
	// samples is the number of fields of a table that the server measures, which takes about 1 ms. The server estimates the
	// rest. If a member hides large values among many small ones, the small ones alone exceed its share.
	samples = 5000
	// keysPerMeasurement is the number of keys that the server measures before it serves other clients.
	keysPerMeasurement = 8
)

// Tidy implements rounds.Leader. It scans all keys, because members may have created some.
func (s *Store) Tidy(ctx context.Context) (map[string]int64, error) {
	usage := map[string]int64{}
	keys := s.client.Scan(ctx, 0, rounds.AllKeys, keysPerPage).Iterator()
	var page []string
	for keys.Next(ctx) {
		if page = append(page, keys.Val()); len(page) == keysPerMeasurement {
			if err := s.tidy(ctx, page, usage); err != nil {
				return nil, err
			}
			page = page[:0]
		}
	}
	if err := keys.Err(); err != nil {
		return nil, unreachable(err)
	}
	return usage, s.tidy(ctx, page, usage)
}

func (s *Store) tidy(ctx context.Context, keys []string, usage map[string]int64) error {
	if len(keys) == 0 {
		return nil
	}
	sizes := make([]*redis.IntCmd, len(keys))
	levels := map[string]*redis.StringCmd{}
	_, err := s.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, key := range keys {
			sizes[i] = p.MemoryUsage(ctx, key, samples)
			if group := rounds.GroupOf(key); levels[group] == nil {
				levels[group] = p.GetRange(ctx, rounds.KeysOf(group).State(), 0, rounds.MaxText)
			}
		}
		return nil
	})
	if known := protocolError(err); known != nil && !errors.Is(err, redis.Nil) && !errors.Is(known, coordination.ErrForeignValue) {
		return known
	}
	var over []string
	for i, key := range keys {
		group := rounds.GroupOf(key)
		level, err := rounds.ParseLevel(levels[group].Val())
		if err == nil && rounds.KeysOf(group).IsOver(key, level) {
			over = append(over, key)
			continue
		}
		usage[group] += sizes[i].Val()
	}
	if len(over) == 0 {
		return nil
	}
	return unreachable(s.client.Unlink(ctx, over...).Err())
}
