// Package coordination holds what all parts of the group protocol of in-place restarts (seed 000) share: how N agents agree, through a
// store, on how often their group has been restarted, and who has to restart now.
//
// # The idea
//
// Each worker slot has a total restart count, its round; the group has a desired one. An agent never counts by itself. It reports an
// instance, one run of a worker process or container, which joins the round that the group is in. Equal rounds everywhere: in sync. An
// instance behind the desired round has to be restarted.
//
//	        all of the first step joined         an instance of round d died, or was replaced
//	FORMING(0) ----------------> RUNNING(d) ------------------------------------+
//	                              ^    |                                        |
//	        all slots joined d+1  |    | the budget is used up                  v
//	RESTARTING(d+1) --------------+    +-------------> TERMINAL          RESTARTING(d+1)
//	   |        \ one of them died meanwhile without a barrier: d+2 opens when all have joined
//	   | out of time, or a worker that cannot run again
//	   v
//	RECREATING    the leader writes generation G+1, then deletes the Jobs; G+1 opens in FORMING(0)
//	CLOSED        suspended: reports change nothing, nor in RECREATING
//	COMPLETED     all that is needed has finished; reports change nothing any more
//
// # The parts
//
// Package rounds is what runs inside the store: a death opens the next round, and the last join of a round starts the workers. Package group
// has the leader's rules, package worker the core of the agent; both are pure. Package valkey reaches a server, package memory runs the same
// functions in the process, for tests and the simulation.
package coordination
