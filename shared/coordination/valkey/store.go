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
