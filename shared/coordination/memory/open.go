package memory

import (
	"context"
	"slices"

	"github.com/holdfast-project/holdfast/shared/coordination"
)

// Open implements coordination.Leader.
func (s *Store) Open(ctx context.Context, group string, o coordination.Open) (coordination.Summary, error) {
	o.Stages = slices.Clone(o.Stages)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.reach(ctx); err != nil {
		return coordination.Summary{}, err
	}
	g := s.groups[group]
	if g != nil && o.Reset && o.Token.Less(g.Token) {
		return coordination.Summary{}, coordination.ErrStaleLeader
	}
	// A repeated reset must not throw away what joined since the first one: its incarnation tells that it was done.
	if g == nil || (o.Reset && g.Incarnation != o.Incarnation) {
		return s.create(group, o)
	}
	before := g.Seq
	if err := g.Open(o, s.now()); err != nil {
		return coordination.Summary{}, err
	}
	if g.Seq != before {
		s.broadcast(group, coordination.Observation{Level: g.Level})
	}
	return g.Summary(), nil
}

func (s *Store) create(group string, o coordination.Open) (coordination.Summary, error) {
	g, err := coordination.NewGroup(o, s.now())
	if err != nil {
		return coordination.Summary{}, err
	}
	s.groups[group] = g
	s.broadcast(group, coordination.Observation{Level: g.Level})
	return g.Summary(), nil
}

// Drop implements coordination.Leader.
func (s *Store) Drop(ctx context.Context, group string, t coordination.Token) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.reach(ctx); err != nil {
		return err
	}
	g := s.groups[group]
	if g == nil {
		return nil
	}
	if t.Less(g.Token) {
		return coordination.ErrStaleLeader
	}
	delete(s.groups, group)
	return nil
}
