// Package orchestrator leads the in-place restarts of a cluster's JobSets and ElasticJobs (seed 000). It is not on the critical path: agents and
// the store restart a group without it.
//
//	Reconcile: observe -> leader.Decide -> read what the plan needs, or act -> again, until nothing is left to do
//
// What is decided, and why, is in package leader. Here is how it is observed (observe.go, kinds.go, reads.go) and carried out (act.go,
// conditions.go): actions are safe to repeat, and what must be counted once is a compare-and-set on the owner itself.
package orchestrator
