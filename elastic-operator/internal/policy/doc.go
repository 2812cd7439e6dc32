// Package policy decides what becomes of an ElasticJob: which workers are wanted, which are counted as failed or lost and replaced, which are
// given up, and when the job has succeeded or failed. It is pure: all it knows comes in as Facts, and what it wants comes out as a Decision.
//
// One reconcile goes through these steps, each in a file of its own:
//
//	memory + pods -> account -> resize -> outcome -> repair -> report
//	                 (each pod   (which    (success,  (create,  (conditions,
//	                 counted     indexes   failure,   delete)   numbers)
//	                 once)       there are) deadline)
//
// The memory is in the status of the job and is written before anything is done to pods. So whatever happens between the two, the next
// reconcile knows what was decided: nothing is counted twice, and a worker that was scaled away does not come back.
//
// Invariants, tested by random histories: there are never more workers than maxReplicas; no deletion that is decided here brings the workers
// that run below minReplicas; without new faults the job comes to rest with the number of workers asked for.
package policy
