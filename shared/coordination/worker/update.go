package worker

import (
	"errors"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
)

func (u Updated) apply(s *State) {
	asked := s.reading // this may be the result of a Read
	if u.Read {
		s.reading = false
	}
	if u.Read && s.readOn {
		s.readOn = false
		s.read()
	}
	known := u.Err == nil && s.level.Incarnation == u.Level.Incarnation
	older := known && u.Level.Seq < s.level.Seq || asked && !known
	if u.Read && older && s.level.Seq > s.readAt {
		s.read() // the result may be older than an update that arrived during the read
		return
	}
	if u.Err != nil {
		s.watchFailed(u.Err)
		return
	}
	s.noTrouble(viaWatch)
	s.retry.clear()
	if u.Place != nil {
		s.adoptPlace(u.Place)
	}
	switch {
	case s.fenced:
	case u.Read:
		s.adopt(u.Level)
		s.confirm()
	case s.level.Phase == "" || !known:
		s.read() // a message from another incarnation is only a reason to read
	case u.Level.Seq > s.level.Seq:
		s.adoptMessage(u.Level)
		s.askForSlot()
	}
}

// confirm makes the agent report again, after each read, what the store may have lost: a join in a round that is waiting for
// joins, a finished worker, or a request to recreate the group.
func (s *State) confirm() {
	if s.level.Phase != rounds.Active {
		return
	}
	clear(s.asked)
	for _, i := range s.instances {
		if !s.unitStarted() || i.Round != s.level.Round || i.finished {
			i.joined, i.reported = place{}, false
		}
	}
}

func (s *State) watchFailed(err error) {
	if errors.Is(err, coordination.ErrNoGroup) {
		s.waitForGroup()
	}
	s.readAt = s.level.Seq          // the next read uses another connection
	for _, i := range s.instances { // joins must be confirmed again on each connection
		i.joined = place{}
	}
	s.trouble(viaWatch, err)
	if errors.Is(err, coordination.ErrForeignValue) {
		s.countForeign()
	}
}
