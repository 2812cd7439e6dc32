// Package simulation simulates whole JobSets in virtual time with many kinds of faults. It runs the shipped code instead of models
// of it: the store's functions in an interpreter behind a simulated network, worker.State in each pod, and leader.Decide with the
// same Observation in two orchestrators. Kubernetes and the faults are modeled.
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
//	|  link (loses, repeats, delays, half-open) -> store: server, 2nd in partition  -> functions|
//	+-------------------------------------------------------------------------------------------+
//
// # A history
//
// A seed determines a list of faults and the random choices of each actor. Faults are injected for a while. Then they end, and the
// world must settle. The first step that breaks an invariant ends the history. Shrink then searches for the smallest list of faults
// that still breaks the invariant, and records the transcript of that history.
//
// # What is checked
//
// S1 to S14 and L1 to L8 are the invariants in DESIGN section 3. S15: a leader does not create a pod while another pod of its slot
// may be running, and only one leader creates one. S16: no function fails with a Lua error, whatever a member has stored. S17: a
// slot is assigned only when nothing is running in its previous pod, no pod has two slots, and no slot has two workers. L9: after a
// permanent fault, the JobSet fails within a limited time with a message that names the slot. The checks do not rely on the
// protocol: the type truth records what really happened to each instance, and each step is compared with that. Mutants, which are
// broken variants of the code, show that the checks work.
package simulation
