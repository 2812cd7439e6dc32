// Package valkey keeps groups in a Valkey or Redis 7 server. The rules run in the server, as a library of functions that the leader
// loads (package rounds). Agents only call functions and subscribe to channels. The server must not evict the groups' keys when its
// memory is full: configure noeviction.
package valkey

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
)

// Store is the client through which agents and the leader use a server. It is safe for concurrent use.
type Store struct {
	options Options
	client  *redis.Client
}

// New checks the options. It does not connect.
func New(o Options) (*Store, error) {
	o = o.withDefaults()
	if err := o.check(); err != nil {
		return nil, err
	}
	logging.Disable() // problems are reported by errors and observations
	return &Store{options: o, client: redis.NewClient(o.client())}, nil
}

// Close closes the connections for calls. A Watch ends with its context.
func (s *Store) Close() error { return s.client.Close() }

// unreachable wraps the error of a store that did not answer. It returns nil if err is nil.
func unreachable(err error) error {
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	return fmt.Errorf("the store is unreachable: %w", err)
}

// protocolError converts an error reply to the corresponding protocol error. Any other error means that the store is unreachable. It
// returns nil if err is nil.
func protocolError(err error) error {
	if reply, ok := errors.AsType[redis.Error](err); ok {
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
