// Package simulation simulates whole JobSets in virtual time with every kind of fault. It runs the shipped code, not models of it:
// the functions of the store in an interpreter behind a simulated network, worker.State in each pod, and leader.Decide with the
// same Observation in two orchestrators. Around them are models of Kubernetes, and of faults.
//
//	             faults (a list drawn from the seed)                      checks
//	                 |                                                      ^
//	                 v                                                      | after every call, order, write
//	+---------------------------------- world: clock, chance ----------------------------------+
//	|  orchestrator a, b      controller, jobs         pod (for each slot, or a spare)         |
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
// A seed determines a list of faults and the random choices of each actor. The faults happen for a while. Then they end, and the
// world must settle. The first step that breaks an invariant ends the history. Shrink then searches for the smallest list of faults
// that breaks the invariant, and records that history as a transcript.
//
// # What is checked
//
// S1 to S14 and L1 to L8 are the invariants of DESIGN section 3. S15: a leader creates no pod beside a pod of its slot that may
// run, and no two leaders create one. S16: no function fails with a Lua error, whatever a member has stored. S17: a slot is given
// only when nothing of the pod before it runs, no pod has two slots, and no slot has two workers. L9: a permanent fault
// leads, within a limited time, to an end that names its slot. The checks do not rely on the protocol: the type truth keeps what
// really happened to each instance, and each step is compared with that. Mutants, which are broken variants of the cores, show that
// the checks work.
package simulation
