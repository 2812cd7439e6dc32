// Package valkey keeps groups in a Valkey or Redis 7 server. The rules run there, as one library of functions that the
// leader loads (lua/, the Go core rule by rule); agents call functions and subscribe, no more. Groups that fill a server's
// memory must not be evicted: configure noeviction.
package valkey

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-project/holdfast/shared/coordination"
)

// Store is a coordination.Store. It is safe for concurrent use.
type Store struct {
	options    Options
	client     *redis.Client
	understood atomic.Int64 // the version of the functions that were called last as a member
}

var _ coordination.Store = (*Store)(nil)

// New checks the options; it does not connect.
func New(o Options) (*Store, error) {
	o = o.withDefaults()
	if err := o.check(); err != nil {
		return nil, err
	}
	silenceClient()
	s := &Store{options: o, client: redis.NewClient(o.client())}
	s.tryNewest()
	return s, nil
}

// Close ends the connections for calls; a Watch ends with its context.
func (s *Store) Close() error { return s.client.Close() }

// call runs a function on a group. The first argument of all functions is the group's channel.
func (s *Store) call(ctx context.Context, version int64, function, group string, args ...any) *redis.Cmd {
	return s.client.FCall(ctx, functionName(version, function), keys(group), append([]any{channel(version, group)}, args...)...)
}

// asAgent reads a missing function as an empty store: the leader has not been there yet.
func asAgent(err error) error {
	if isMissingFunction(err) {
		return coordination.ErrNoGroup
	}
	return protocolError(err)
}

// asLeader runs a function in the own version; if the server lacks it the library is loaded.
func (s *Store) asLeader(ctx context.Context, function, group string, args ...any) (*redis.Cmd, error) {
	do := func() *redis.Cmd { return s.call(ctx, s.options.version, function, group, args...) }
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
