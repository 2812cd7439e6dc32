package simulation

import "time"

// instance is one life of a worker, as it truly was: what the checks hold the protocol against.
type instance struct {
	id      string
	born    int64 // by the clock of its node, Unix microseconds
	pod     *pod
	running bool
	lifted  bool          // its user code runs; without a barrier from the start
	started time.Duration // its user code
	hangs   bool          // it makes no progress any more
	hungAt  time.Duration
	code    int64
	exited  time.Duration
	wallOut int64 // Unix milliseconds of the node, when it exited

	rendezvous rendezvous // what it was told when it started
	given      rendezvous // the newest round that it has joined
	assigned   bool
	joinedBy   int  // the run of the agent that has joined with it: one that crashes before it has saved that does not know
	saved      bool // its agent's file has that round
	asked      bool // its agent has asked to join

	orders  int  // how often it was ordered to stop, by one run of its agent and without an error between
	runs    int  // the run of the agent that gave the last order
	ordered bool // its end was ordered by the protocol
	done    bool // it finished by itself
	known   bool // the store took in its death
}

// rendezvous is what a worker of a round meets its peers under.
type rendezvous struct{ generation, round int64 }

func (r rendezvous) less(o rendezvous) bool {
	return r.generation < o.generation || (r.generation == o.generation && r.round < o.round)
}
