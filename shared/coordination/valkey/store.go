// Package valkey keeps groups in a Valkey or Redis 7 server. The rules run there, as one library of functions that the
// leader loads (package rounds); agents call functions and subscribe, no more. Groups that fill a server's
// memory must not be evicted: configure noeviction.
package valkey

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/redis/go-redis/v9"
)

// Store is what agents and the leader use of a server. It is safe for concurrent use.
type Store struct {
	options Options
	client  *redis.Client
}

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
