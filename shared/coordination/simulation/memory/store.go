// Package memory is an in-process store for tests and simulations. It runs the functions of the real store, from the same source,
// in a Lua interpreter. Server handles one call at a time. Store is safe for concurrent use and can simulate the faults of a real
// server: it can be unreachable, wiped, or reset to older data.
package memory

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
)

// ErrUnreachable is the error of every call after SetReachable(false). Like any error that is not part of the protocol, it means
// that the call should be retried.
var ErrUnreachable = errors.New("the in-memory store simulates being unreachable")

// Store is an in-memory store for agents and the leader. It is safe for concurrent use.
type Store struct {
	mu          sync.Mutex
	server      *Server
	unreachable bool
	watchers    map[*watcher]bool
}

var (
	_ rounds.Members = (*Store)(nil)
	_ rounds.Leader  = (*Store)(nil)
)

// New returns an empty store that uses the given clock.
func New(clock func() time.Time) *Store {
	s := &Store{watchers: map[*watcher]bool{}}
	server, err := NewServer(Options{
		Now: clock, Publish: s.broadcast, Wake: s.wakeLeader,
	})
	if err != nil {
		panic(err) // the library is embedded
	}
	s.server = server
	return s
}

// Call implements rounds.Members.
func (s *Store) Call(ctx context.Context, group string, c rounds.Call) (reply string, now rounds.Level, err error) {
	err = s.locked(ctx, func(v *Server) error {
		reply, now, err = v.Call(group, c)
		return err
	})
	return reply, now, err
}

// Place returns what the leader has decided about a pod.
func (s *Store) Place(ctx context.Context, group string, own rounds.Slot) (p rounds.Place, err error) {
	err = s.locked(ctx, func(v *Server) error {
		p, err = v.Place(group, own)
		return err
	})
	return p, err
}

// Level reads the level.
func (s *Store) Level(ctx context.Context, group string) (l rounds.Level, err error) {
	err = s.locked(ctx, func(v *Server) error {
		l, err = v.Level(group)
		return err
	})
	return l, err
}

// Observe implements rounds.Members.
func (s *Store) Observe(ctx context.Context, group string, own rounds.Slot) (o rounds.Observation) {
	err := s.locked(ctx, func(v *Server) error {
		o = v.Observe(group, own)
		return nil
	})
	o.Err = cmp.Or(o.Err, err)
	return o
}

// Read implements rounds.Leader.
func (s *Store) Read(ctx context.Context, group string) (stored *rounds.Stored, err error) {
	err = s.locked(ctx, func(v *Server) error {
		stored, err = v.Read(group)
		return err
	})
	return stored, err
}

// Set implements rounds.Leader.
func (s *Store) Set(
	ctx context.Context, group, before string, state rounds.State, c rounds.Config, finished []rounds.FinishedSlot, line *rounds.Line,
) (written bool, err error) {
	err = s.locked(ctx, func(v *Server) error {
		written, err = v.Set(group, before, state, c, finished, line)
		return err
	})
	return written, err
}

// Release implements rounds.Leader.
func (s *Store) Release(
	ctx context.Context, group string, t coordination.Token, l rounds.Level, unit int, slot rounds.Slot, cause string, heir rounds.Slot,
) error {
	return s.locked(ctx, func(v *Server) error { return v.Release(group, t, l, unit, slot, cause, heir) })
}

// Look implements rounds.Leader.
func (s *Store) Look(ctx context.Context, group, table string, slots []string) (values map[string]string, err error) {
	err = s.locked(ctx, func(v *Server) error {
		values, err = v.Look(group, table, slots)
		return err
	})
	return values, err
}

// History implements rounds.Leader.
func (s *Store) History(ctx context.Context, group string) (lines []rounds.Line, err error) {
	err = s.locked(ctx, func(v *Server) error {
		lines, err = v.History(group)
		return err
	})
	return lines, err
}

// Drop implements rounds.Leader.
func (s *Store) Drop(ctx context.Context, group string) error {
	return s.locked(ctx, func(v *Server) error {
		v.Drop(group)
		return nil
	})
}

// Tidy implements rounds.Leader. Each group has the size 1.
func (s *Store) Tidy(ctx context.Context) (map[string]int64, error) {
	sizes := map[string]int64{}
	return sizes, s.locked(ctx, func(v *Server) error {
		v.Tidy()
		for _, group := range v.Groups() {
			sizes[group] = 1
		}
		return nil
	})
}

// locked runs a call if the store is reachable.
func (s *Store) locked(ctx context.Context, call func(*Server) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.unreachable {
		return ErrUnreachable
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return call(s.server)
}
