package memory

import (
	"maps"
	"slices"

	"github.com/holdfast-project/holdfast/shared/coordination"
)

// SetReachable cuts or mends the connection to the store. Each watcher is told once, and reads again when it is back.
func (s *Store) SetReachable(reachable bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.unreachable == !reachable {
		return
	}
	s.unreachable = !reachable
	s.readAll()
}

// Wipe loses all data, as a server that comes back empty. Watchers read again.
func (s *Store) Wipe() { s.Restore(nil) }

// Dump is a copy of all groups at one moment.
type Dump map[string]*coordination.Group

// Dump copies all groups.
func (s *Store) Dump() Dump {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Dump(s.groups).clone()
}

// Restore sets the store back to what a dump holds, as a server that comes back with older data. Watchers read again.
func (s *Store) Restore(d Dump) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.groups = d.clone()
	if !s.unreachable {
		s.readAll()
	}
}

func (s *Store) readAll() {
	for w := range s.watchers {
		s.read(w)
	}
}

func (d Dump) clone() map[string]*coordination.Group {
	groups := make(map[string]*coordination.Group, len(d))
	for name, g := range d {
		groups[name] = clone(g)
	}
	return groups
}

func clone(g *coordination.Group) *coordination.Group {
	c := *g
	c.Stages, c.Steps, c.Counts = slices.Clone(g.Stages), slices.Clone(g.Steps), slices.Clone(g.Counts)
	c.History = slices.Clone(g.History)
	c.Fenced = maps.Clone(g.Fenced)
	c.Slots = make(map[string]*coordination.Slot, len(g.Slots))
	for name, s := range g.Slots {
		held := *s
		c.Slots[name] = &held
	}
	return &c
}
