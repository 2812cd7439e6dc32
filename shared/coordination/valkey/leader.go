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

// Read implements rounds.Leader. Three round trips: the second counts what the first has named and measures the lines of the history,
// which members may have written.
func (s *Store) Read(ctx context.Context, group string) (*rounds.Stored, error) {
	keys := rounds.KeysOf(group)
	var text *redis.StringCmd
	var hash *redis.MapStringStringCmd
	_, err := s.client.TxPipelined(ctx, func(p redis.Pipeliner) error {
		text, hash = p.GetRange(ctx, keys.State(), 0, rounds.MaxText), p.HGetAll(ctx, keys.Config())
		return nil
	})
	switch {
	case err != nil:
		return nil, protocolError(err)
	case text.Val() == "" || len(hash.Val()) == 0:
		return nil, nil
	}
	stored, err := rounds.ParseStored(text.Val(), hash.Val())
	if err != nil {
		return nil, foreign(group, err)
	}
	state, config := stored.State, stored.Config
	counts := make([]*redis.IntCmd, 0, 2*len(config.Units))
	var long []*redis.IntCmd
	_, err = s.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for u := range config.Units {
			counts = append(counts, p.HLen(ctx, keys.Joined(state.Level, u)), p.HLen(ctx, keys.Finished(state.Level, u)))
		}
		for _, field := range rounds.LinesOf(state.Round) {
			long = append(long, p.HStrLen(ctx, keys.History(), field))
		}
		return nil
	})
	if err != nil {
		return nil, protocolError(err)
	}
	for u := range config.Units {
		stored.Joined, stored.Finished = append(stored.Joined, counts[2*u].Val()), append(stored.Finished, counts[2*u+1].Val())
	}
	for i, field := range rounds.LinesOf(state.Round) {
		if n := long[i].Val(); n == 0 || n > 2*rounds.MaxText {
			continue
		}
		text, err := s.client.HGet(ctx, keys.History(), field).Result()
		if err != nil && !errors.Is(err, redis.Nil) {
			return nil, protocolError(err)
		}
		if line, err := rounds.ParseLine(text); err == nil {
			stored.Lines = append(stored.Lines, line)
		}
	}
	return stored, nil
}

// Set implements rounds.Leader. The index is on another node of a cluster: a crash in between is repaired by the next call.
func (s *Store) Set(ctx context.Context, group string, seq int64, state rounds.State, c rounds.Config, finished []rounds.FinishedSlot, line *rounds.Line) (bool, error) {
	keys := rounds.KeysOf(group)
	if len(finished) > 0 {
		_, err := s.client.Pipelined(ctx, func(p redis.Pipeliner) error {
			for _, f := range finished {
				p.HSetNX(ctx, keys.Joined(state.Level, f.Unit), f.Slot, rounds.FinishedInstance)
				p.HSetNX(ctx, keys.Finished(state.Level, f.Unit), f.Slot, rounds.FinishedInstance)
			}
			return nil
		})
		if err != nil {
			return false, protocolError(err)
		}
	}
	reply, err := s.lead(ctx, group, rounds.Set(seq, state, c))
	if err != nil || reply == "-" {
		return false, err
	}
	if err := s.client.SAdd(ctx, rounds.IndexKey, group).Err(); err != nil {
		return false, unreachable(err)
	}
	if line == nil {
		return true, nil
	}
	return true, s.addLine(ctx, group, *line)
}

// addLine adds a line to the history. What is lost by a crash before it is only an account.
func (s *Store) addLine(ctx context.Context, group string, l rounds.Line) error {
	now, err := s.client.Time(ctx).Result()
	if err != nil {
		return protocolError(err)
	}
	l.OpenedAt = now
	if err := s.client.HSet(ctx, rounds.KeysOf(group).History(), rounds.LinesOf(l.Round)[0], l.String()).Err(); err != nil {
		return protocolError(err)
	}
	return nil
}

// Release implements rounds.Leader.
func (s *Store) Release(ctx context.Context, group string, t coordination.Token, l rounds.Level, unit int, slot rounds.Slot, cause string) error {
	_, err := s.lead(ctx, group, rounds.Release(t, l.Incarnation, unit, slot, cause))
	return err
}

// lead runs a function; if the server lacks it the library is loaded.
func (s *Store) lead(ctx context.Context, group string, c rounds.Call) (string, error) {
	call := func() (string, error) {
		return s.client.FCall(ctx, c.Function, []string{rounds.KeysOf(group).State()}, c.Arguments...).Text()
	}
	reply, err := call()
	if isMissingFunction(err) {
		if err := s.Load(ctx); err != nil {
			return "", err
		}
		reply, err = call()
	}
	if err != nil {
		return "", protocolError(err)
	}
	return reply, nil
}

// keysPerPage is how many slots are asked for at once.
const keysPerPage = 1000

// Holders implements rounds.Leader.
func (s *Store) Holders(ctx context.Context, group string, generation int64, slots []string) (map[string]string, error) {
	holders := map[string]string{}
	err := s.lookUp(ctx, rounds.KeysOf(group).Holders(generation), slots, func(slot, pod string, found bool) {
		if found {
			holders[slot] = pod
		}
	})
	return holders, err
}

// Missing implements rounds.Leader.
func (s *Store) Missing(ctx context.Context, group string, l rounds.Level, unit int, slots []string) ([]string, error) {
	var missing []string
	err := s.lookUp(ctx, rounds.KeysOf(group).Joined(l, unit), slots, func(slot, _ string, found bool) {
		if !found {
			missing = append(missing, slot)
		}
	})
	return missing, err
}

// HaveFinished implements rounds.Leader.
func (s *Store) HaveFinished(ctx context.Context, group string, l rounds.Level, unit int, slots []string) ([]string, error) {
	var finished []string
	err := s.lookUp(ctx, rounds.KeysOf(group).Finished(l, unit), slots, func(slot, _ string, found bool) {
		if found {
			finished = append(finished, slot)
		}
	})
	return finished, err
}

// fieldsPerPage is how many fields are asked for at once. Members have written them: the store does not read all of a large table.
const fieldsPerPage = 1000

func (s *Store) lookUp(ctx context.Context, key string, fields []string, on func(field, value string, found bool)) error {
	for page := range slices.Chunk(fields, fieldsPerPage) {
		values, err := s.client.HMGet(ctx, key, page...).Result()
		if err != nil {
			return protocolError(err)
		}
		for i, v := range values {
			text, found := v.(string)
			on(page[i], text, found)
		}
	}
	return nil
}

// maxHistory is more bytes than a history can have; what members have put there is not read.
const maxHistory = 1 << 20

// History implements rounds.Leader. What members have written in place of lines is left out.
func (s *Store) History(ctx context.Context, group string) ([]rounds.Line, error) {
	key := rounds.KeysOf(group).History()
	size, err := s.client.MemoryUsage(ctx, key, allSamples).Result()
	if err != nil && err != redis.Nil {
		return nil, unreachable(err)
	}
	if size > maxHistory {
		return nil, &coordination.ForeignValueError{Key: key, Value: fmt.Sprint(size, " bytes")}
	}
	texts, err := s.client.HGetAll(ctx, key).Result()
	if err != nil {
		return nil, protocolError(err)
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
func (s *Store) Drop(ctx context.Context, group string) error {
	keys := s.client.Scan(ctx, 0, rounds.KeysOf(group).All(), keysPerPage).Iterator()
	for keys.Next(ctx) {
		if err := s.client.Unlink(ctx, keys.Val()).Err(); err != nil {
			return unreachable(err)
		}
	}
	if err := keys.Err(); err != nil {
		return unreachable(err)
	}
	if err := s.client.SRem(ctx, rounds.IndexKey, group).Err(); err != nil {
		return unreachable(err)
	}
	return nil
}

// Groups implements rounds.Leader.
func (s *Store) Groups(ctx context.Context) ([]string, error) {
	groups, err := s.client.SMembers(ctx, rounds.IndexKey).Result()
	if err != nil {
		return nil, protocolError(err)
	}
	slices.Sort(groups)
	return groups, nil
}

// WatchAll implements rounds.Leader. The leader brings its own functions on each connection, so that a server that came
// back with others gets them at once.
func (s *Store) WatchAll(ctx context.Context, on func(group string)) {
	w := watch{
		store: s, channel: rounds.AllChannels, pattern: true,
		read: func(ctx context.Context) error {
			err := s.Load(ctx)
			if err == nil {
				on("")
			}
			return err
		},
		message: func(m *redis.Message) { on(rounds.GroupOf(m.Channel)) },
		lost:    s.options.OnLost,
	}
	w.run(ctx)
}
