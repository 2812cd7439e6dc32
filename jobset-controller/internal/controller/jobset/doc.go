// Package jobset reconciles JobSets.
//
//	observe ──> decide ──> steps ──> status ──> events, counters
//	(reads)     (pure)     (writes)  (one patch, guarded by the resourceVersion that was observed)
//
// Everything but the status is level-triggered from what observe finds: a step that has been done is done again without effect.
// The status carries what cannot be derived from the world, the number of restarts and the terminal state. It is written last
// and only onto the version of the JobSet that was observed, so a decision made on a stale cache is never recorded; what
// follows from it (deleting Jobs of earlier attempts, or those that remain) happens in the reconcile that sees it recorded.
//
// The one write that goes before is the epoch annotation, see epoch.go.
package jobset
