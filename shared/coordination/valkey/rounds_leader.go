package valkey

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
)

// Read implements rounds.Leader. Two round trips: the second counts what the first has named.
func (r Rounds) Read(ctx context.Context, group string) (*rounds.Stored, error) {
	keys := rounds.KeysOf(group)
	var text *redis.StringCmd
	var hash *redis.MapStringStringCmd
	_, err := r.store.client.TxPipelined(ctx, func(p redis.Pipeliner) error {
		text, hash = p.GetRange(ctx, keys.State(), 0, rounds.MaxText), p.HGetAll(ctx, keys.Config())
		return nil
	})
	switch {
	case err != nil:
		return nil, roundsError(err)
	case text.Val() == "" || len(hash.Val()) == 0:
		return nil, nil
	}
	state, stateErr := rounds.ParseState(text.Val())
	config, configErr := rounds.ParseConfig(hash.Val())
	if err := errors.Join(stateErr, configErr); err != nil {
		return nil, foreign(group, err)
	}
	s := &rounds.Stored{State: state, Config: config}
	counts := make([]*redis.IntCmd, 0, 2*len(config.Units))
	_, err = r.store.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for u := range config.Units {
			counts = append(counts, p.HLen(ctx, keys.Joined(state.Level, u)), p.HLen(ctx, keys.Finished(state.Level, u)))
		}
		return nil
	})
	if err != nil {
		return nil, roundsError(err)
	}
	for u := range config.Units {
		s.Joined, s.Finished = append(s.Joined, counts[2*u].Val()), append(s.Finished, counts[2*u+1].Val())
	}
	return s, nil
}

// finishedInstance stands for a worker that has finished and whose agent no longer reports.
const finishedInstance = "finished 0 1"

// Set implements rounds.Leader. The index is on another node of a cluster: a crash in between is repaired by the next call.
func (r Rounds) Set(ctx context.Context, group string, seq int64, s rounds.State, c rounds.Config, finished []rounds.FinishedSlot) (bool, error) {
	keys := rounds.KeysOf(group)
	if len(finished) > 0 {
		_, err := r.store.client.Pipelined(ctx, func(p redis.Pipeliner) error {
			for _, f := range finished {
				p.HSetNX(ctx, keys.Joined(s.Level, f.Unit), f.Slot, finishedInstance)
				p.HSetNX(ctx, keys.Finished(s.Level, f.Unit), f.Slot, "finished")
			}
			return nil
		})
		if err != nil {
			return false, roundsError(err)
		}
	}
	reply, err := r.lead(ctx, group, rounds.Set(seq, s, c))
	if err != nil || reply == "-" {
		return false, err
	}
	if err := r.store.client.SAdd(ctx, rounds.IndexKey, group).Err(); err != nil {
		return false, unreachable(err)
	}
	return true, nil
}

// Release implements rounds.Leader.
func (r Rounds) Release(ctx context.Context, group string, t coordination.Token, l rounds.Level, unit int, s rounds.Slot, cause string) error {
	_, err := r.lead(ctx, group, rounds.Release(t, l.Incarnation, unit, s, cause))
	return err
}

// lead runs a function; if the server lacks it the library is loaded.
func (r Rounds) lead(ctx context.Context, group string, c rounds.Call) (string, error) {
	call := func() (string, error) {
		return r.store.client.FCall(ctx, c.Function, []string{rounds.KeysOf(group).State()}, c.Arguments...).Text()
	}
	reply, err := call()
	if isMissingFunction(err) {
		if err := r.Load(ctx); err != nil {
			return "", err
		}
		reply, err = call()
	}
	if err != nil {
		return "", roundsError(err)
	}
	return reply, nil
}

// missingPage is how many slots are asked for at once.
const missingPage = 1000

// Missing implements rounds.Leader.
func (r Rounds) Missing(ctx context.Context, group string, l rounds.Level, unit int, slots []string) ([]string, error) {
	var missing []string
	for page := range slices.Chunk(slots, missingPage) {
		values, err := r.store.client.HMGet(ctx, rounds.KeysOf(group).Joined(l, unit), page...).Result()
		if err != nil {
			return nil, roundsError(err)
		}
		for i, v := range values {
			if v == nil {
				missing = append(missing, page[i])
			}
		}
	}
	return missing, nil
}

// History implements rounds.Leader. What members have written in place of lines is left out.
func (r Rounds) History(ctx context.Context, group string) ([]rounds.Line, error) {
	key := rounds.KeysOf(group).History()
	size, err := r.store.client.MemoryUsage(ctx, key, allSamples).Result()
	if err != nil && err != redis.Nil {
		return nil, unreachable(err)
	}
	if size > maxHistory {
		return nil, &coordination.ForeignValueError{Key: key, Value: fmt.Sprint(size, " bytes")}
	}
	texts, err := r.store.client.HGetAll(ctx, key).Result()
	if err != nil {
		return nil, roundsError(err)
	}
	var lines []rounds.Line
	for _, field := range slices.Sorted(maps.Keys(texts)) {
		if line, err := rounds.ParseLine(texts[field]); err == nil {
			lines = append(lines, line)
		}
	}
	return lines, nil
}

// Drop implements rounds.Leader. It looks for the group's keys page by page, because members may have made some.
func (r Rounds) Drop(ctx context.Context, group string) error {
	keys := r.store.client.Scan(ctx, 0, rounds.KeysOf(group).All(), missingPage).Iterator()
	for keys.Next(ctx) {
		if err := r.store.client.Unlink(ctx, keys.Val()).Err(); err != nil {
			return unreachable(err)
		}
	}
	if err := keys.Err(); err != nil {
		return unreachable(err)
	}
	if err := r.store.client.SRem(ctx, rounds.IndexKey, group).Err(); err != nil {
		return unreachable(err)
	}
	return nil
}
