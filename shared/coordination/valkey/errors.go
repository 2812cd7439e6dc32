package valkey

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
)

// protocolError converts an error reply to the corresponding protocol error. Any other error means that the store is unreachable. It
// returns nil if err is nil.
func protocolError(err error) error {
	var reply redis.Error
	if errors.As(err, &reply) {
		if known := rounds.Error(reply.Error()); known != nil {
			return known
		}
	}
	return unreachable(err)
}

// memberError treats a missing function as a store that is empty because the leader has not written to it yet, unless the store
// serves another protocol version.
func (s *Store) memberError(ctx context.Context, err error) error {
	if !isMissingFunction(err) && !redis.HasErrorPrefix(err, "NOPERM") {
		return protocolError(err)
	}
	if other := s.noGroup(ctx); isMissingFunction(err) || other != coordination.ErrNoGroup {
		return other
	}
	return protocolError(err)
}

// noGroup returns the error for a group whose state is not in the store: either the store serves another protocol version, or the
// group does not exist.
func (s *Store) noGroup(ctx context.Context) error {
	served, err := s.client.FCall(ctx, rounds.FunctionVersion, nil).Text()
	if err != nil || served == rounds.Version {
		return coordination.ErrNoGroup
	}
	return &coordination.VersionError{Store: served}
}

func foreign(group string, err error) error {
	return &coordination.ForeignValueError{Key: rounds.KeysOf(group).State(), Value: err.Error()}
}

func isMissingFunction(err error) bool { return redis.HasErrorPrefix(err, "Function not found") }
