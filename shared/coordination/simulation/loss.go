package simulation

import (
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination/group"
	"github.com/holdfast-project/holdfast/shared/coordination/simulation/memory"
)

// restart closes the server's connections and restarts it after a while, with the given data or, if nil, its own.
func (s *server) restart(away time.Duration, data *memory.Dump, why string) {
	s.note(s.name, "%s", why)
	s.up = false
	if data != nil {
		s.functions.Restore(*data)
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

// back crashes the server after lost, so that it loses everything that happens between now and then.
func (s *server) back(lost, away time.Duration, why string) {
	data := s.functions.Dump()
	s.in(lost, func() {
		if s.up {
			s.restart(away, &data, why)
		}
	})
}

// split makes some of the clients reach a copy of the primary for a while. In the end, one of the two is dropped.
func (st *store) split(d time.Duration, keepSecond bool) {
	if st.second != nil {
		return
	}
	st.second = newServer(st, "second store")
	st.second.functions.Restore(st.first.functions.Dump())
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
			st.first.functions.Restore(st.second.functions.Dump())
		}
		st.note("store", "is reunited, dropping the %s side", map[bool]string{true: "near", false: "far"}[keepSecond])
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

// addBystander writes a group that is not part of the history.
func (s *server) addBystander() {
	want := group.Wanted{Generation: 1, Limit: 1, Stages: stagesOf(s.shape.Entries)}
	w, _, err := group.Next(nil, want, "other")
	if err != nil {
		panic(err)
	}
	if _, err := s.functions.Set(otherUID, w.Before, w.State, w.Config, w.Finished, w.Line()); err != nil {
		panic(err)
	}
}
