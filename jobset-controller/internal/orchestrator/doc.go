// Package orchestrator manages the in-place restarts of a cluster's JobSets and ElasticJobs (JobSet KEP-876). It is not on the critical
// path: agents and the store restart a group without it.
//
//	Reconcile: observe -> leader.Decide -> read what the plan needs, or act -> again, until nothing is left to do
//
// Package leader decides what to do and why. This package observes (observe.go, kinds.go, reads.go) and acts (act.go,
// conditions.go). Actions are safe to repeat, and what must be counted once is a compare-and-set on the owner itself.
package orchestrator
