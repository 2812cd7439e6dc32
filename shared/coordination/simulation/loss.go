package simulation

import (
	"context"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/memory"
)

// dump copies all groups, by the in-memory store, which knows how.
func (s *server) dump() memory.Dump {
	m := memory.New(func() time.Time { return beginning })
	m.Restore(s.groups)
	return m.Dump()
}

// restart ends the server's connections and brings it back after a while, with the given data if they are not its own.
func (s *server) restart(away time.Duration, data memory.Dump, why string) {
	s.note(s.name, "%s", why)
	s.up = false
	if data != nil {
		s.groups = data
		s.truth.lost()
	}
	for _, sub := range s.subscribers {
		if sub.open && sub.server == s {
			sub.reset()
		}
	}
	s.in(away, func() {
		s.up = true
		s.note(s.name, "is up: %v", s.names())
	})
}

// back crashes the server so that it loses what happens from now until then.
func (s *server) back(lost, away time.Duration, why string) {
	data := s.dump()
	s.in(lost, func() {
		if s.up {
			s.restart(away, data, why)
		}
	})
}

// split lets a part of the clients reach a copy of the primary for a while. Then one of the two is given up.
func (st *store) split(d time.Duration, keepSecond bool) {
	if st.second != nil {
		return
	}
	st.second = &server{store: st, name: "second store", up: true, groups: st.first.dump()}
	st.note("store", "splits in two")
	st.truth.lost()
	for _, sub := range st.subscribers {
		if sub.open && sub.link.far {
			sub.reset()
		}
	}
	st.in(d, func() {
		loser := st.second
		if keepSecond {
			st.first.groups, st.second.groups = st.second.groups, st.first.groups
		}
		st.note("store", "is one again, the %s side is given up", map[bool]string{true: "near", false: "far"}[keepSecond])
		st.truth.lost()
		for _, sub := range st.subscribers {
			if sub.open && (sub.server == loser || keepSecond) {
				sub.reset()
			}
		}
		loser.up = false
		st.second = nil
	})
}

// bystander is a group that nothing in a history is about.
func bystander(w *world) *coordination.Group {
	m := memory.New(func() time.Time { return beginning })
	_, err := m.Open(context.Background(), otherUID, coordination.Open{
		Incarnation: "other", Epoch: 1, Limit: 1, Stages: w.shape.stages(),
	})
	if err != nil {
		panic(err)
	}
	return m.Dump()[otherUID]
}
