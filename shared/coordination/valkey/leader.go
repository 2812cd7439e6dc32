package valkey

import (
	"context"
	"fmt"
	"regexp"
	"slices"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
)

// Read implements rounds.Leader. It takes three round trips, because the names of the tables to count are only known after the
// first.
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
	_, err = s.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for u := range config.Units {
			counts = append(counts, p.HLen(ctx, keys.Joined(state.Level, u)), p.HLen(ctx, keys.Finished(state.Level, u)))
		}
		return nil
	})
	if err != nil {
		return nil, protocolError(err)
	}
	for u := range config.Units {
		stored.Joined, stored.Finished = append(stored.Joined, counts[2*u].Val()), append(stored.Finished, counts[2*u+1].Val())
	}
	if stored.Lines, err = s.lines(ctx, group, rounds.LinesOf(state.Round, 2)); err != nil {
		return nil, err
	}
	return stored, nil
}

// Set implements rounds.Leader. It records finished workers in the same transaction as the state, because Tidy could otherwise
// mistake their tables for those of a past round and remove them. If the process crashes before the line is added to the history,
// only that record is lost.
func (s *Store) Set(ctx context.Context, group, before string, state rounds.State, c rounds.Config, finished []rounds.FinishedSlot, line *rounds.Line) (bool, error) {
	keys := rounds.KeysOf(group)
	enter := func(p redis.Pipeliner) {
		for _, f := range finished {
			p.HSetNX(ctx, keys.Joined(state.Level, f.Unit), f.Slot, rounds.FinishedInstance)
			p.HSetNX(ctx, keys.Finished(state.Level, f.Unit), f.Slot, rounds.FinishedInstance)
		}
	}
	reply, err := s.lead(ctx, group, rounds.Set(before, state, c), enter)
	if err != nil || reply == string(rounds.AnswerOver) {
		return false, err
	}
	if line == nil {
		return true, nil
	}
	now, err := s.client.Time(ctx).Result()
	if err != nil {
		return true, protocolError(err)
	}
	l := *line
	l.OpenedAt = now
	return true, protocolError(s.client.HSet(ctx, keys.History(), rounds.LinesOf(l.Round, 1)[0], l.String()).Err())
}

// Release implements rounds.Leader.
func (s *Store) Release(ctx context.Context, group string, t coordination.Token, l rounds.Level, unit int, slot rounds.Slot, cause string, heir rounds.Slot) error {
	_, err := s.lead(ctx, group, rounds.Release(t, l.Incarnation, unit, slot, cause, heir), nil)
	return err
}

// lead calls a function in one transaction with the commands added by before. If the server does not have the function, lead
// loads the library.
func (s *Store) lead(ctx context.Context, group string, c rounds.Call, before func(redis.Pipeliner)) (any, error) {
	call := func() (any, error) {
		var reply *redis.Cmd
		_, err := s.client.TxPipelined(ctx, func(p redis.Pipeliner) error {
			if before != nil {
				before(p)
			}
			reply = p.FCall(ctx, c.Function, []string{rounds.KeysOf(group).State()}, c.Arguments...)
			return nil
		})
		return reply.Val(), err
	}
	reply, err := call()
	if isMissingFunction(err) {
		if err := s.Load(ctx); err != nil {
			return nil, err
		}
		reply, err = call()
	}
	return reply, protocolError(err)
}

// keysPerPage and fieldsPerPage are the numbers of keys and fields requested at once.
const keysPerPage, fieldsPerPage = 1000, 500

// Look implements rounds.Leader. Because members have written the values, large ones are not read.
func (s *Store) Look(ctx context.Context, group, key string, fields []string) (map[string]string, error) {
	found := map[string]string{}
	for page := range slices.Chunk(fields, fieldsPerPage) {
		reply, err := s.lead(ctx, group, rounds.KeysOf(group).Look(key, page...), nil)
		if err != nil {
			return nil, err
		}
		values, _ := reply.([]any)
		for i, v := range values {
			if text, is := v.(string); is && text != "" {
				found[page[i]] = text
			}
		}
	}
	return found, nil
}

// History implements rounds.Leader. It omits values that are not valid lines, which members may have written.
func (s *Store) History(ctx context.Context, group string) ([]rounds.Line, error) {
	return s.lines(ctx, group, rounds.LinesOf(0, rounds.HistoryLength))
}

func (s *Store) lines(ctx context.Context, group string, fields []string) ([]rounds.Line, error) {
	texts, err := s.Look(ctx, group, rounds.KeysOf(group).History(), fields)
	var lines []rounds.Line
	for _, field := range fields {
		if line, err := rounds.ParseLine(texts[field]); err == nil {
			lines = append(lines, line)
		}
	}
	return lines, err
}

// Drop implements rounds.Leader. It searches for the group's keys page by page, because members may have created some.
func (s *Store) Drop(ctx context.Context, group string) error {
	keys := s.client.Scan(ctx, 0, rounds.KeysOf(group).All(), keysPerPage).Iterator()
	for keys.Next(ctx) {
		if err := s.client.Unlink(ctx, keys.Val()).Err(); err != nil {
			return unreachable(err)
		}
	}
	return unreachable(keys.Err())
}

// WatchAll implements rounds.Leader. The leader loads its functions on each connection, so that a server that restarts with other
// functions gets the right ones immediately.
func (s *Store) WatchAll(ctx context.Context, on func(group string)) {
	w := watch{
		store: s, channel: rounds.AllChannels, pattern: true,
		read: func(ctx context.Context) (func(), error) {
			return func() { on("") }, s.Load(ctx)
		},
		message: func(m *redis.Message) { on(rounds.GroupOf(m.Channel)) },
		lost:    s.options.OnLost,
	}
	w.run(ctx)
}

// allLibraries is a pattern that matches the libraries of all versions.
const allLibraries = "holdfast*"

// versionedName matches the name of a function in any version, except for the one that returns the version.
var versionedName = regexp.MustCompile(`^hf(\d+)_`)

// Load loads the functions unless the server already has exactly these. Only leaders have permission to do so. A library of
// another protocol version is not replaced, because the agents of running pods use it and this version does not understand its
// data.
func (s *Store) Load(ctx context.Context) error {
	loaded, err := s.client.FunctionList(ctx, redis.FunctionListQuery{LibraryNamePattern: allLibraries, WithCode: true}).Result()
	if err != nil {
		return fmt.Errorf("listing the store's functions: %w", unreachable(err))
	}
	for _, library := range loaded {
		if other := versionOf(library); other != "" {
			return &coordination.VersionError{Store: other}
		}
	}
	if slices.ContainsFunc(loaded, func(library redis.Library) bool { return library.Code == rounds.Library }) {
		return nil
	}
	if err := s.client.FunctionLoadReplace(ctx, rounds.Library).Err(); err != nil {
		return fmt.Errorf("loading the store's functions: %w", unreachable(err))
	}
	return nil
}

// versionOf returns the protocol version that a library serves, or "" if it serves this version or none.
func versionOf(library redis.Library) string {
	for _, function := range library.Functions {
		if name := versionedName.FindStringSubmatch(function.Name); name != nil && name[1] != rounds.Version {
			return name[1]
		}
	}
	return ""
}
