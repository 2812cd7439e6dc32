package simulation

import (
	"slices"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination"
)

// subscription is a program's Watch: subscribe, read, then take messages; read again at intervals; begin anew whenever
// the connection is lost. Messages that arrive during a read wait for its end, as in the Valkey store.
type subscription struct {
	link    *link
	uid     string // "" for all groups
	on      func(coordination.Observation)
	session int
	open    bool
	server  *server
	reading bool
	inbox   []coordination.Level
	isLost  bool
	closed  bool
	attempt int
}

const (
	resyncMost = 30 * time.Second
	pingEvery  = 10 * time.Second
)

func subscribe(l *link, uid string, on func(coordination.Observation)) *subscription {
	s := &subscription{link: l, uid: uid, on: on}
	l.store.subscribers = append(l.store.subscribers, s)
	s.connect()
	return s
}

func (s *subscription) close() {
	if s == nil {
		return
	}
	s.closed, s.open = true, false
	s.session++
	st := s.link.store
	st.subscribers = slices.DeleteFunc(st.subscribers, func(other *subscription) bool { return other == s })
}

// connect begins a session.
func (s *subscription) connect() {
	s.session++
	session := s.session
	s.open, s.reading, s.inbox = false, false, nil
	s.link.owner.later(s.link.delay(), func() {
		if s.session != session {
			return
		}
		if s.link.cut() {
			s.link.owner.later(callTimeout, func() { s.lost(session, errTimeout) })
			return
		}
		if !s.link.server().up {
			s.lost(session, errRefused)
			return
		}
		s.open, s.server = true, s.link.server()
		s.read(session)
	})
}

// lost ends a session; the next one begins after a pause.
func (s *subscription) lost(session int, err error) {
	if s.session != session || s.closed {
		return
	}
	s.open = false
	s.session++
	if !s.isLost {
		s.isLost = true
		s.on(coordination.Observation{Err: err})
	}
	next := s.session
	s.attempt++
	pause := s.link.random.between(50*time.Millisecond, 200*time.Millisecond<<min(s.attempt, 4))
	s.link.owner.later(pause, func() {
		if s.session == next {
			s.connect()
		}
	})
}

func (s *subscription) read(session int) {
	s.reading = true
	if s.uid == "" {
		s.isRead(session, coordination.Observation{Read: true})
		return
	}
	request(s.link, func(v *server) (coordination.Level, error) { return v.level(s.uid) }, func(l coordination.Level, err error) {
		if s.session != session {
			return
		}
		if err != nil && err != coordination.ErrNoGroup {
			s.lost(session, err)
			return
		}
		s.isRead(session, coordination.Observation{Level: l, Read: true, Err: err})
	})
}

func (s *subscription) isRead(session int, o coordination.Observation) {
	s.reading, s.isLost, s.attempt = false, false, 0
	s.on(o)
	inbox := s.inbox
	s.inbox = nil
	for _, level := range inbox {
		if s.session != session {
			return
		}
		s.on(coordination.Observation{Level: level})
	}
	s.link.owner.later(s.link.random.between(resyncMost/2, resyncMost), func() {
		if s.session == session {
			s.read(session)
		}
	})
}

// receive takes a message of this session.
func (s *subscription) receive(session int, level coordination.Level) {
	switch {
	case s.session != session || s.closed:
	case s.reading:
		s.inbox = append(s.inbox, level)
	default:
		s.on(coordination.Observation{Level: level})
	}
}

// reset is what a subscriber sees when the server ends; a half-open connection only notices by its pings.
func (s *subscription) reset() {
	session := s.session
	wait := s.link.delay()
	if s.link.cut() {
		wait = pingEvery
	}
	s.link.owner.later(wait, func() { s.lost(session, errRefused) })
}
