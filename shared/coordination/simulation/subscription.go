package simulation

import (
	"errors"
	"slices"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
	"github.com/holdfast-project/holdfast/shared/coordination/worker"
)

// subscription is a program's Watch: it subscribes, reads, and then receives messages. It reads again at intervals, and starts over
// whenever the connection is lost. As in the Valkey client, messages that arrive during a read are delivered after it.
type subscription struct {
	link    *link
	via     *via        // connection to a relay; nil if connected to the store
	uid     string      // "" for all groups
	own     rounds.Slot // the pod and its own slot, whose place is read; zero for all groups
	on      func(worker.Event)
	session int
	open    bool
	server  *server
	reading bool
	inbox   []rounds.Observation
	isLost  bool
	closed  bool
	attempt int
}

const (
	resyncMost = 30 * time.Second
	pingEvery  = 10 * time.Second
)

func subscribe(l *link, uid string, own rounds.Slot, on func(worker.Event)) *subscription {
	s := &subscription{link: l, uid: uid, own: own, on: on}
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
	if s.via != nil {
		s.via.end()
	}
	st := s.link.store
	st.subscribers = slices.DeleteFunc(st.subscribers, func(other *subscription) bool { return other == s })
}

// connect starts a session.
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

func (s *subscription) observe(o rounds.Observation) { s.on(worker.Updated{Observation: o}) }

// lost ends a session. The next one starts after a pause.
func (s *subscription) lost(session int, err error) {
	if s.session != session || s.closed {
		return
	}
	s.open = false
	s.session++
	if !s.isLost {
		s.isLost = true
		s.observe(rounds.Observation{Err: err})
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

// read performs a read for the Watch. If the read fails, the connection counts as lost.
func (s *subscription) read(session int) {
	s.reading = true
	if s.uid == "" {
		s.observe(rounds.Observation{Read: true})
		s.isRead(session)
		return
	}
	s.fetch(session, func(err error) bool {
		if isTransport(err) && s.via == nil {
			s.lost(session, err)
		} else if isTransport(err) {
			s.via.told(session, rounds.Observation{Err: err})
		}
		return !isTransport(err)
	}, func() { s.isRead(session) })
}

// readNow performs a read that the agent has requested.
func (s *subscription) readNow() {
	s.fetch(s.session, func(error) bool { return true }, func() {})
}

// fetch reads the level, and then what the leader has decided about the pod. If the level cannot be read, passOn reports whether to
// deliver the error.
func (s *subscription) fetch(session int, passOn func(error) bool, done func()) {
	fetchVia(s, func(v *server) (rounds.Level, error) { return v.level(s.uid) }, func(l rounds.Level, err error) {
		switch {
		case s.closed:
			return
		case err != nil:
			if passOn(err) {
				s.observe(rounds.Observation{Read: true, Err: err})
				done()
			}
			return
		}
		fetchVia(s, func(v *server) (rounds.Place, error) { return v.place(s.uid, s.own) }, func(p rounds.Place, err error) {
			switch {
			case s.closed:
				return
			case err != nil:
				s.observe(rounds.Observation{Read: true, Err: err})
			default:
				s.observe(rounds.Observation{Level: l, Place: &p, Read: true})
			}
			done()
		})
	})
}

// isTransport reports whether the store was unreachable.
func isTransport(err error) bool {
	return err != nil && !errors.Is(err, coordination.ErrNoGroup) && !errors.Is(err, coordination.ErrForeignValue)
}

func (s *subscription) isRead(session int) {
	if s.session != session {
		return
	}
	s.reading, s.isLost, s.attempt = false, false, 0
	inbox := s.inbox
	s.inbox = nil
	for _, o := range inbox {
		if s.session != session {
			return
		}
		s.observe(o)
	}
	if s.via != nil { // the relay reads at intervals
		return
	}
	s.link.owner.later(s.link.random.between(resyncMost/2, resyncMost), func() {
		if s.session == session {
			s.read(session)
		}
	})
}

// receive handles a message of the given session.
func (s *subscription) receive(session int, o rounds.Observation) {
	switch {
	case s.session != session || s.closed:
	case s.reading:
		s.inbox = append(s.inbox, o)
	default:
		s.observe(o)
	}
}

// reset simulates what a subscriber observes when the server stops. If the connection is half-open, only pings detect that.
func (s *subscription) reset() {
	session := s.session
	wait := s.link.delay()
	if s.link.cut() {
		wait = pingEvery
	}
	s.link.owner.later(wait, func() { s.lost(session, errRefused) })
}
