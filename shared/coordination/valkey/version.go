package valkey

import (
	"context"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-project/holdfast/shared/coordination"
)

// spoken are the versions that a client or library of one version understands, its own first.
func spoken(version int64) []int64 {
	if version > 1 {
		return []int64{version, version - 1}
	}
	return []int64{version}
}

// asMember runs a function in the version that was understood last; if the store has not got it, in the other one, because
// the store was rolled back or brought up to date. It returns the version that was understood.
func (s *Store) asMember(ctx context.Context, function, group string, args ...any) (*redis.Cmd, int64) {
	version := s.understood.Load()
	cmd := s.call(ctx, version, function, group, args...)
	if !isMissingFunction(cmd.Err()) {
		return cmd, version
	}
	for _, other := range spoken(s.options.version) {
		if other == version {
			continue
		}
		if again := s.call(ctx, other, function, group, args...); !isMissingFunction(again.Err()) {
			s.understood.Store(other)
			return again, other
		}
	}
	return cmd, version
}

// tryNewest makes the next call as a member begin with the own version again.
func (s *Store) tryNewest() { s.understood.Store(s.options.version) }

// versionOf is the version of a channel.
func (s *Store) versionOf(name, group string) int64 {
	for _, v := range spoken(s.options.version) {
		if channel(v, group) == name {
			return v
		}
	}
	return s.options.version
}

// echoes are what a store of two versions tells on a second channel.
type echoes struct {
	channel string
	said    coordination.Observation
}

// hear takes in an observation and tells whether it is an echo of the one before.
func (e *echoes) hear(channel string, o coordination.Observation) bool {
	if o == e.said && channel != e.channel {
		return true
	}
	e.channel, e.said = channel, o
	return false
}
