// Package policy decides what to do about an ElasticJob: which workers it should have, which workers have failed and are replaced or
// abandoned, and when the job has succeeded or failed. It is pure: the input is Facts, the output is a Decision.
//
// Each step of a decision has its own file:
//
//	memory + pods -> account     -> resize       -> outcome   -> repair  -> report
//	                 (count each    (choose the     (success,    (create,   (conditions,
//	                 fault once)    indexes)        failure,     delete     counts)
//	                                                deadline)    pods)
//
// The memory is part of the job's status. It is written before pods are changed, so an interrupted reconcile can be repeated: no fault is
// counted twice, and a worker that was scaled down does not return.
//
// Randomized tests check these invariants: there are never more workers than maxReplicas; no decided deletion reduces the running workers
// below minReplicas; without new faults the job reaches the desired number of workers.
package policy
