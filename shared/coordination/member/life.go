package member

import (
	"slices"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination"
)

// lostExitCode stands for the exit code of an instance whose record is gone. The kubelet uses the same.
const lostExitCode = 137

// life is one instance as the agent knows it, from the first look until its death is reported.
type life struct {
	coordination.Instance
	present bool // in the last look
	lived   bool // this run of the agent saw it alive: it is newer than all that were reported before
	outdid  bool // it was given a birth after one that the store knew
	absent  int  // looks in a row that lacked it

	exited               bool
	code                 int64
	failedAt, detectedAt int64 // Unix milliseconds
	exitSeen             time.Time
	signal               int64
	reason               string

	signs     signs     // of progress
	startedAt int64     // its user code began to run, Unix milliseconds; 0: not known to
	tellAt    time.Time // when the store is told so
	startTold bool

	round int64              // coordination.NoRound until the store gave one
	under coordination.Level // the level it joined under; empty: it has to join
	told  coordination.Level // the level of the last join that was logged
	asOf  coordination.Level // the newest level that the last join took into account
	again time.Time          // no join before this while that is still the newest

	order order

	startRound int64     // the round that startAt is for
	startAt    time.Time // it waits until then

	lifted   bool // its user code was let run
	finished bool // exited 0 by itself, at a barrier: held until it is released or runs again
	reported bool // and the store knows
	released bool // the store said that nothing will make it run (again)
}

// order is the state of the one stop an instance can be given.
type order struct {
	given   time.Time // zero: none
	running bool      // the driver is at it
	retryAt time.Time // after a driver's error
	hang    bool      // nobody ordered it: the instance hangs
	earlier bool      // given by an earlier run of this agent: it explains the exit, and may be given again
}

func (l *life) ordered() bool { return (!l.order.given.IsZero() && !l.order.hang) || l.order.earlier }

// find returns the life with this ID, or nil.
func (s *State) find(id string) *life {
	for _, l := range s.lives {
		if l.ID == id {
			return l
		}
	}
	return nil
}

// add takes an instance into the list, which is ordered by birth.
func (s *State) add(i coordination.Instance) *life {
	l := &life{Instance: i, round: coordination.NoRound}
	if s.memory.holds(i.ID) {
		l.round = s.memory.Round
	}
	l.order.earlier = i.ID == s.memory.Ordered
	at, _ := slices.BinarySearchFunc(s.lives, l, func(a, b *life) int {
		return int(min(1, max(-1, a.Born-b.Born)))
	})
	s.lives = slices.Insert(s.lives, at, l)
	return l
}

// newest is the newest instance unless it is known to be dead, or nil.
func (s *State) newest() *life {
	if n := len(s.lives); n > 0 && !s.lives[n-1].exited {
		return s.lives[n-1]
	}
	return nil
}

// current is the instance that was seen alive in the last look, or nil.
func (s *State) current() *life {
	if l := s.newest(); l != nil && l.present {
		return l
	}
	return nil
}

// forget drops a life whose death is reported. It and all before it are history from now on.
func (s *State) forget(id string) {
	s.lives = slices.DeleteFunc(s.lives, func(l *life) bool {
		if l.ID == id {
			s.reported = max(s.reported, l.Born)
		}
		return l.ID == id
	})
}
