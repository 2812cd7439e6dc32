// Package memory keeps groups in the process: the pure core behind a mutex. It serves tests, simulations and single-process
// set-ups; its faults (unreachable, wiped, set back to an older state) are those of a real server.
package memory

import (
	"context"
	"errors"
	"maps"
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
	clock func() time.Time

	mu          sync.Mutex
	unreachable bool
	groups      map[string]*coordination.Group
	watchers    map[*watcher]bool
}

var _ coordination.Store = (*Store)(nil)

// New returns an empty store whose time is the clock's.
func New(clock func() time.Time) *Store {
	return &Store{clock: clock, groups: map[string]*coordination.Group{}, watchers: map[*watcher]bool{}}
}

// Join implements coordination.Agent.
func (s *Store) Join(ctx context.Context, group string, j coordination.Join) (coordination.Reply, error) {
	return step(ctx, s, group, func(g *coordination.Group, now int64) (coordination.Reply, error) { return g.Join(j, now) })
}

// Down implements coordination.Agent.
func (s *Store) Down(ctx context.Context, group string, d coordination.Down) (coordination.Reply, error) {
	return step(ctx, s, group, func(g *coordination.Group, now int64) (coordination.Reply, error) { return g.Down(d, now) })
}

// Ask implements coordination.Agent.
func (s *Store) Ask(ctx context.Context, group string, m coordination.Member, kind string) (coordination.Reply, error) {
	return step(ctx, s, group, func(g *coordination.Group, now int64) (coordination.Reply, error) { return g.Ask(m, kind, now) })
}

// Recreate implements coordination.Leader.
func (s *Store) Recreate(ctx context.Context, group string, t coordination.Token, epoch, round int64, kind string) (coordination.Summary, error) {
	return step(ctx, s, group, func(g *coordination.Group, _ int64) (coordination.Summary, error) {
		err := g.Recreate(t, epoch, round, kind)
		return g.Summary(), err
	})
}

// Evict implements coordination.Leader.
func (s *Store) Evict(ctx context.Context, group string, t coordination.Token, slot, pod string) (coordination.Summary, error) {
	return step(ctx, s, group, func(g *coordination.Group, now int64) (coordination.Summary, error) {
		err := g.Evict(t, slot, pod, now)
		return g.Summary(), err
	})
}

// Missing implements coordination.Leader.
func (s *Store) Missing(ctx context.Context, group string) ([]string, error) {
	return step(ctx, s, group, func(g *coordination.Group, _ int64) ([]string, error) { return g.Missing(), nil })
}

// Fenced implements coordination.Leader.
func (s *Store) Fenced(ctx context.Context, group string, pods []string) ([]string, error) {
	return step(ctx, s, group, func(g *coordination.Group, _ int64) (fenced []string, err error) {
		for _, pod := range pods {
			if g.Fenced[pod] {
				fenced = append(fenced, pod)
			}
		}
		return fenced, nil
	})
}

// Rejected implements coordination.Leader.
func (s *Store) Rejected(ctx context.Context, group string) (int64, error) {
	return step(ctx, s, group, func(g *coordination.Group, _ int64) (int64, error) { return g.Rejected, nil })
}

// Summary implements coordination.Leader.
func (s *Store) Summary(ctx context.Context, group string) (coordination.Summary, error) {
	return step(ctx, s, group, func(g *coordination.Group, _ int64) (coordination.Summary, error) { return g.Summary(), nil })
}

// History implements coordination.Leader.
func (s *Store) History(ctx context.Context, group string) ([]coordination.Record, error) {
	return step(ctx, s, group, func(g *coordination.Group, _ int64) ([]coordination.Record, error) {
		return slices.Clone(g.History), nil
	})
}

// Groups implements coordination.Leader.
func (s *Store) Groups(ctx context.Context) ([]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.reach(ctx); err != nil {
		return nil, err
	}
	return slices.Sorted(maps.Keys(s.groups)), nil
}

// reach tells whether a call gets through.
func (s *Store) reach(ctx context.Context) error {
	if s.unreachable {
		return ErrUnreachable
	}
	return ctx.Err()
}

// step runs one atomic step of a group and broadcasts the level if it moved.
func step[T any](ctx context.Context, s *Store, group string, do func(*coordination.Group, int64) (T, error)) (T, error) {
	var none T
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.reach(ctx); err != nil {
		return none, err
	}
	g := s.groups[group]
	if g == nil {
		return none, coordination.ErrNoGroup
	}
	before := g.Seq
	result, err := do(g, s.now())
	if g.Seq != before {
		s.broadcast(group, coordination.Observation{Level: g.Level})
	}
	if err != nil {
		return none, err
	}
	return result, nil
}

func (s *Store) now() int64 { return s.clock().UnixMilli() }
