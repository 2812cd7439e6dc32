// Package coordination is the group protocol of in-place restarts (seed 000): how N agents agree, through a store, on
// how often their group has been restarted, and who has to restart now.
//
// # The idea
//
// Each worker slot has a total restart count, its round; the group has a desired one. An agent never counts by itself.
// It reports an instance, one life of a worker process or container, and the store gives that instance its round, in one
// atomic step. Equal rounds everywhere: in sync. An instance behind the desired round has to be restarted.
//
//	        all of the first step joined         an instance of round d died, or was replaced
//	FORMING(0) ----------------> RUNNING(d) ------------------------------------+
//	                              ^    |                                        |
//	        all slots joined d+1  |    | the budget is used up                  v
//	RESTARTING(d+1) --------------+    +-------------> TERMINAL          RESTARTING(d+1)
//	   |        \ one of them died meanwhile without a barrier: dirty, d+2 opens when all have joined
//	   | out of time, or a worker that cannot run again
//	   v
//	RECREATING    the leader writes epoch E+1, then deletes the Jobs; E+1 opens in FORMING(0)
//	RECOVERING    an empty or older store collects what the agents know; equal rounds run on untouched
//	CLOSED        suspended: reports change nothing, nor in RECREATING
//	COMPLETED     all that is needed has finished; reports change nothing any more
//
// # Barrier, steps, finished workers
//
// An instance either starts its user code at once, or waits at a barrier until Level.Lifted says that its round runs; then
// a death before that hurts nobody, and a finished worker can be held and run again.
//
// Stages that start together are a step. While it forms, its slots wait and the others do not notice; when all of them have
// joined it enters at the group's round, and from there on all steps restart together. A stage whose workers have all
// finished leaves as soon as nothing holds them (Release).
//
// Failures that come together coalesce: in RESTARTING(d) a new instance simply joins d. Every report may be repeated.
// What is broadcast is the whole level, so a lost, repeated or late message does no harm.
//
// # The parts
//
// Store is what agents and the leader call. The rules are functions that run in the store; package functions has their source,
// and nothing else decides what they decide. Package valkey calls them on a server; package memory runs them in the process,
// for tests and the simulation. Package contract holds the test that both pass.
//
// Times of the store are Unix milliseconds; births of instances and pods are Unix microseconds.
package coordination
