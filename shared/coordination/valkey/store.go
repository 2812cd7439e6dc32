// Package valkey keeps groups in a Valkey or Redis 7 server. The rules run there, as one library of functions that the
// leader loads (package functions); agents call functions and subscribe, no more. Groups that fill a server's
// memory must not be evicted: configure noeviction.
package valkey

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/functions"
)

// Store is a coordination.Store. It is safe for concurrent use.
type Store struct {
	options Options
	client  *redis.Client
}

var _ coordination.Store = (*Store)(nil)

// New checks the options; it does not connect.
func New(o Options) (*Store, error) {
	o = o.withDefaults()
	if err := o.check(); err != nil {
		return nil, err
	}
	silenceClient()
	return &Store{options: o, client: redis.NewClient(o.client())}, nil
}

// Close ends the connections for calls; a Watch ends with its context.
func (s *Store) Close() error { return s.client.Close() }

// call runs a function on a group. The first argument of all functions is the group's channel.
func (s *Store) call(ctx context.Context, group string, c functions.Call) *redis.Cmd {
	args := append([]any{functions.Channel(group)}, c.Arguments...)
	return s.client.FCall(ctx, functions.Name(c.Function), functions.Keys(group), args...)
}

// asAgent reads a missing function as an empty store, which the leader has not reached yet, unless the store serves another version.
func (s *Store) asAgent(ctx context.Context, err error) error {
	if !isMissingFunction(err) && !isNotPermitted(err) {
		return protocolError(err)
	}
	if served, versionErr := s.client.FCall(ctx, functions.NameOfVersion, nil).Text(); versionErr == nil && served != coordination.Version {
		return &coordination.VersionError{Store: served}
	}
	if isMissingFunction(err) {
		return coordination.ErrNoGroup
	}
	return protocolError(err)
}

// asLeader runs a function; if the server lacks it the library is loaded.
func (s *Store) asLeader(ctx context.Context, group string, c functions.Call) (*redis.Cmd, error) {
	do := func() *redis.Cmd { return s.call(ctx, group, c) }
	cmd := do()
	if isMissingFunction(cmd.Err()) {
		if err := s.EnsureLibrary(ctx); err != nil {
			return nil, err
		}
		cmd = do()
	}
	return cmd, protocolError(cmd.Err())
}

var silence sync.Once

// silenceClient stops go-redis from writing to standard error. What goes wrong is told by errors and observations.
func silenceClient() { silence.Do(func() { redis.SetLogger(noLog{}) }) }

type noLog struct{}

func (noLog) Printf(context.Context, string, ...any) {}

func unreachable(err error) error {
	if errors.Is(err, context.Canceled) {
		return err
	}
	return fmt.Errorf("the store is unreachable: %w", err)
}
