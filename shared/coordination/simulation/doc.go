// Package simulation plays whole JobSets in virtual time and breaks everything that can break. It runs what is shipped, not
// models of it: the functions of the store in an interpreter, behind a simulated network, worker.State in each pod, and
// leader.Decide on the same Observation in two orchestrators. Around them are models of what Kubernetes does, and of what goes wrong.
//
//	             faults (a list drawn from the seed)                      checks
//	                 |                                                      ^
//	                 v                                                      | after every call, order, write
//	+---------------------------------- world: clock, chance ----------------------------------+
//	|  orchestrator a, b      controller, jobs         pod (one for each slot, or more)        |
//	|  leader.Decide, group   JobSet and Job           agent: worker.State, its file           |
//	|   |      |     ^        controllers               |   kubelet: relist, CrashLoopBackOff  |
//	|   |      v     |             |                    |   instances of the worker             |
//	|   |     API server: JobSet, Lease (compare and set)   node: clock, connection             |
//	|   v                                               v                                       |
//	|  link (loses, repeats, delays, half-open) -> store: server, server of a split -> functions|
//	+-------------------------------------------------------------------------------------------+
//
// # A history
//
// A seed draws a list of faults and the chance of each actor. The faults strike for a while, then all is calm, and the world
// has to come to rest. A step that breaks an invariant ends the history. Shrink then looks for the few faults that it takes,
// and what remains is told as a transcript.
//
// # What is checked
//
// S1 to S14 and L1 to L8 are those of DESIGN section 3. S15: a leader makes no pod beside one of its slot that may run, and no
// two make one. S16: no function fails by itself, whatever a member has stored. L9: a fault that never ends leads to an end that names
// its slot, within a bounded time. The checks never ask the protocol: the type truth keeps what really
// happened to each instance, and a step is held against that. Mutants, broken variants of the cores, show that they bite.
package simulation
