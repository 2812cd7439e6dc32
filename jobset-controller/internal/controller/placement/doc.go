// Package placement keeps the pods of Jobs that are placed exclusively together: it releases followers when their leader has a
// node, and evicts those that are not where their leader is. What is decided is in plan/exclusive.
//
//	pods of a Job ──> observe (cache: pods by owner, nodes' labels) ──> exclusive.Plan ──> release, evict, report
package placement
