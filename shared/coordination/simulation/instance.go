package simulation

import "time"

// instance records what really happened in one run of a worker. The checks compare the protocol with it.
type instance struct {
	id      string
	born    int64 // in Unix microseconds, by its node's clock
	pod     *pod
	slot    string // slot that it works in, or wants to join
	running bool
	lifted  bool          // its user code is running; without a barrier, from the start
	started time.Duration // when its user code started
	hangs   bool          // it no longer makes progress
	hungAt  time.Duration
	code    int64
	exited  time.Duration
	wallOut int64 // when it exited, in Unix milliseconds by its node's clock

	rendezvous rendezvous // rendezvous that it received when it started
	given      rendezvous // newest round that it has joined
	assigned   bool
	joinedBy   int  // run of the agent that reported its join; if the agent crashes before saving, its next run does not know about the join
	saved      bool // the round is in its agent's file
	asked      bool // its agent has asked to join

	orders  int  // how often one run of its agent ordered it to stop, not counting orders that failed
	runs    int  // run of the agent that gave the last order
	ordered bool // its end was ordered by the protocol
	done    bool // it exited with code 0 without being stopped
	known   bool // the store has recorded its death
}

// unheard is used for joinedBy if no run of the agent learned about the join.
const unheard = -1

// rendezvous identifies the round in which a worker meets its peers.
type rendezvous struct{ generation, round int64 }

func (r rendezvous) less(o rendezvous) bool {
	return r.generation < o.generation || (r.generation == o.generation && r.round < o.round)
}
