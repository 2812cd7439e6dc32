// Package coordination defines the types and errors that all parts of the group protocol for in-place restarts (JobSet KEP-876)
// share. With this protocol, N agents agree through a store on how often their group has restarted and which workers must restart
// now.
//
// # The idea
//
// Each worker slot has a restart count, its round. The group has a desired round. An agent does not count restarts itself. It
// reports an instance, which is one run of a worker process or container, and the instance joins the group's current round. When
// all slots are at the same round, the group is in sync. An instance behind the desired round must be restarted.
//
//	        all slots of step 0 joined         an instance of round d died, or was replaced
//	FORMING(0) ----------------> RUNNING(d) ------------------------------------+
//	                              ^    |                                        |
//	        all slots joined d+1  |    | the budget is used up                  v
//	RESTARTING(d+1) --------------+    +-------------> TERMINAL          RESTARTING(d+1)
//	   |        \ another one died in the meantime and there is no barrier: d+2 opens when all have joined
//	   | timed out, or a worker cannot run again
//	   v
//	RECREATING    the leader writes generation G+1, then deletes the Jobs; G+1 opens in FORMING(0)
//	CLOSED        suspended; reports have no effect here and in RECREATING
//	COMPLETED     all required workers have finished; reports no longer have any effect
//
// # The parts
//
// Package rounds runs inside the store: a death opens the next round, and the last join of a round starts the workers. Package
// group contains the leader's rules, and package worker is the core of the agent; both are pure. Package valkey is the client for
// a Valkey server. Package relay lets members of large groups share connections to the server. Package memory runs the same
// functions in process, for tests and the simulation.
package coordination
