// Package orchestrator leads the in-place restarts of all JobSets of a cluster (seed 000). It opens and closes groups in
// the store, watches the time of each round, fails over to a full recreation, and keeps the annotation inplace-restarts,
// a condition and events. It is not on the critical path: agents and the store restart a group without it.
//
//	Reconcile: observe (JobSet, epoch, group, Jobs) -> leader.Next -> one step -> again, until there is nothing to do
//
// Workers that have not joined for the first time are package forming's; those that do not come back are package ladder's.
//
// Steps are level-based and safe to repeat. What must be counted once is a compare-and-set on the JobSet itself.
package orchestrator
