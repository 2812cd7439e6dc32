package simulation

import "time"

// instance is one life of a worker as it truly was. The checks compare the protocol with it.
type instance struct {
	id      string
	born    int64 // by the clock of its node, in Unix microseconds
	pod     *pod
	slot    string // that it works in, or wants to join in
	running bool
	lifted  bool          // its user code runs; without a barrier from the start
	started time.Duration // when its user code started
	hangs   bool          // it no longer makes progress
	hungAt  time.Duration
	code    int64
	exited  time.Duration
	wallOut int64 // by the clock of its node when it exited, in Unix milliseconds

	rendezvous rendezvous // what it was told when it started
	given      rendezvous // the newest round that it has joined
	assigned   bool
	joinedBy   int  // the run of the agent that reported its join; an agent that crashes before it has saved that does not know it
	saved      bool // the round is in its agent's file
	asked      bool // its agent has asked to join

	orders  int  // how often one run of its agent ordered it to stop without an error in between
	runs    int  // the run of the agent that gave the last order
	ordered bool // its end was ordered by the protocol
	done    bool // it finished by itself
	known   bool // the store has recorded its death
}

// unheard is the run of an agent that was not told of a join.
const unheard = -1

// rendezvous identifies the round in which a worker meets its peers.
type rendezvous struct{ generation, round int64 }

func (r rendezvous) less(o rendezvous) bool {
	return r.generation < o.generation || (r.generation == o.generation && r.round < o.round)
}
