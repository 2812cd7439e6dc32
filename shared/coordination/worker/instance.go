package worker

import (
	"slices"
	"time"
)

// lostExitCode is used as the exit code of an instance whose record was deleted. The kubelet uses the same code.
const lostExitCode = 137

// instance is one run of the worker. The agent keeps it until its death has been handled.
type instance struct {
	Known
	present bool // it was in the last observation
	absent  int  // number of consecutive observations without it

	exited               bool
	code, signal         int64
	reason               string
	failedAt, detectedAt int64 // Unix milliseconds

	order order
	signs signs // signs of progress

	joined  place     // the round in which its join was confirmed on this connection
	heldAt  time.Time // when another pod was last found to hold the slot; zero if never
	startAt time.Time // the instance waits until this time; zero if not determined yet
	startIn int64     // the round that startAt applies to

	finished bool // with a barrier: it exited with code 0 without being stopped
	reported bool // the store has recorded that it has finished, in the round of joined
}

// place is a round of one incarnation of the group.
type place struct {
	incarnation string
	round       int64
}

// in reports whether the instance belongs to a round of an incarnation.
func (i *instance) in(p place) bool { return i.Incarnation == p.incarnation && i.Round == p.round }

// order is an order to stop an instance. An instance gets at most one.
type order struct {
	given   time.Time // when it was given; zero if it was not
	running bool      // the driver is executing it
	retryAt time.Time // set after a driver error
	hang    bool      // the instance hangs; it was not ordered to restart
	earlier bool      // the order was given before this agent restarted: it explains an exit, and may be repeated
}

func (i *instance) ordered() bool {
	return (!i.order.given.IsZero() && !i.order.hang) || i.order.earlier
}

// find returns the instance with the given ID, or nil.
func (s *State) find(id string) *instance {
	for _, i := range s.instances {
		if i.ID == id {
			return i
		}
	}
	return nil
}

// add inserts an instance into the list, which is ordered by birth.
func (s *State) add(id string, born int64) *instance {
	i := &instance{Known: Known{ID: id, Born: born, Round: NoRound, Ran: !s.config.Barrier}}
	if s.memory.Instance.ID == id {
		i.Known = s.memory.Instance
	} else {
		s.memory.Attempt = max(s.memory.Attempt+1, born) // higher than any attempt of an agent that has lost its memory
		i.Attempt = s.memory.Attempt
		s.memory.Instance = i.Known
	}
	i.order.earlier = id == s.memory.Ordered
	at, _ := slices.BinarySearchFunc(s.instances, i, func(a, b *instance) int { return int(min(1, max(-1, a.Born-b.Born))) })
	s.instances = slices.Insert(s.instances, at, i)
	return i
}

// remember copies the state of the newest instance to s.memory.
func (s *State) remember(i *instance) {
	if s.memory.Instance.ID == i.ID {
		s.memory.Instance = i.Known
	}
}

// newest returns the newest instance, or nil if it has exited or there is none.
func (s *State) newest() *instance {
	if n := len(s.instances); n > 0 && !s.instances[n-1].exited {
		return s.instances[n-1]
	}
	return nil
}

// held returns the finished instance, which may have to run again, or nil.
func (s *State) held() *instance {
	if n := len(s.instances); n > 0 && s.instances[n-1].finished {
		return s.instances[n-1]
	}
	return nil
}

// current returns the newest instance if it was running at the last observation, or nil.
func (s *State) current() *instance {
	if i := s.newest(); i != nil && i.present {
		return i
	}
	return nil
}

// forget drops an instance whose death has been handled.
func (s *State) forget(i *instance) {
	s.accounted = max(s.accounted, i.Born)
	s.instances = slices.DeleteFunc(s.instances, func(o *instance) bool { return o == i })
}
