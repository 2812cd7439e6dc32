// Package memory is a store in the process, for tests and simulations. It runs the functions that the real store runs, from
// the same source, in a Lua interpreter: Server plainly, one call at a time; Store as a coordination.Store, with the faults
// of a real server: unreachable, wiped, set back to an older state.
package memory

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination"
)

// ErrUnreachable is what every call returns after SetReachable(false). Like any error that is none of the protocol's,
// it means: try again.
var ErrUnreachable = errors.New("the store in memory plays unreachable")

// Store is a coordination.Store. It is safe for concurrent use.
type Store struct {
	mu          sync.Mutex
	server      *Server
	unreachable bool
	watchers    map[*watcher]bool
}

var _ coordination.Store = (*Store)(nil)

// New returns an empty store whose time is the clock's.
func New(clock func() time.Time) *Store {
	s := &Store{watchers: map[*watcher]bool{}}
	server, err := NewServer(Options{Now: clock, Publish: func(group string, l coordination.Level) {
		s.broadcast(group, coordination.Observation{Level: l})
	}})
	if err != nil {
		panic(err) // the library is embedded
	}
	s.server = server
	return s
}

// Join implements coordination.Agent.
func (s *Store) Join(ctx context.Context, group string, j coordination.Join) (coordination.Reply, error) {
	return locked(ctx, s, func(v *Server) (coordination.Reply, error) { return v.Join(group, j) })
}

// Down implements coordination.Agent.
func (s *Store) Down(ctx context.Context, group string, d coordination.Down) (coordination.Reply, error) {
	return locked(ctx, s, func(v *Server) (coordination.Reply, error) { return v.Down(group, d) })
}

// Ask implements coordination.Agent.
func (s *Store) Ask(ctx context.Context, group string, m coordination.Member, kind string) (coordination.Reply, error) {
	return locked(ctx, s, func(v *Server) (coordination.Reply, error) { return v.Ask(group, m, kind) })
}

// Open implements coordination.Leader.
func (s *Store) Open(ctx context.Context, group string, o coordination.Open) (coordination.Summary, error) {
	return locked(ctx, s, func(v *Server) (coordination.Summary, error) { return v.Open(group, o) })
}

// Recreate implements coordination.Leader.
func (s *Store) Recreate(ctx context.Context, group string, t coordination.Token, epoch, round int64, kind string) (coordination.Summary, error) {
	return locked(ctx, s, func(v *Server) (coordination.Summary, error) { return v.Recreate(group, t, epoch, round, kind) })
}

// Evict implements coordination.Leader.
func (s *Store) Evict(ctx context.Context, group string, t coordination.Token, slot, pod string) (coordination.Summary, error) {
	return locked(ctx, s, func(v *Server) (coordination.Summary, error) { return v.Evict(group, t, slot, pod) })
}

// Drop implements coordination.Leader.
func (s *Store) Drop(ctx context.Context, group string, t coordination.Token) error {
	_, err := locked(ctx, s, func(v *Server) (any, error) { return nil, v.Drop(group, t) })
	return err
}

// Summary implements coordination.Leader.
func (s *Store) Summary(ctx context.Context, group string) (coordination.Summary, error) {
	return locked(ctx, s, func(v *Server) (coordination.Summary, error) { return v.Summary(group) })
}

// Missing implements coordination.Leader.
func (s *Store) Missing(ctx context.Context, group string) ([]string, error) {
	return locked(ctx, s, func(v *Server) ([]string, error) { return v.Missing(group) })
}

// Fenced implements coordination.Leader.
func (s *Store) Fenced(ctx context.Context, group string, pods []string) ([]string, error) {
	g, err := s.group(ctx, group)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(pods), func(pod string) bool { return !g.Fenced[pod] }), nil
}

// History implements coordination.Leader.
func (s *Store) History(ctx context.Context, group string) ([]coordination.Record, error) {
	g, err := s.group(ctx, group)
	if err != nil {
		return nil, err
	}
	return g.History, nil
}

// Groups implements coordination.Leader.
func (s *Store) Groups(ctx context.Context) ([]string, error) {
	return locked(ctx, s, func(v *Server) ([]string, error) { return v.Groups(), nil })
}

func (s *Store) group(ctx context.Context, group string) (*Group, error) {
	return locked(ctx, s, func(v *Server) (*Group, error) {
		g, err := v.Group(group)
		if err == nil && g == nil {
			err = coordination.ErrNoGroup
		}
		return g, err
	})
}

// locked runs one call if the store can be reached.
func locked[T any](ctx context.Context, s *Store, call func(*Server) (T, error)) (T, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var none T
	if s.unreachable {
		return none, ErrUnreachable
	}
	if err := ctx.Err(); err != nil {
		return none, err
	}
	return call(s.server)
}
