// Package jobset reconciles JobSets.
//
//	observe ──> decide ──> steps ──> status ──> events, counters
//	(reads)     (pure)     (writes)  (one patch, guarded by the observed resourceVersion)
//
// Everything except the status is level-triggered by what observe finds: repeating a step has no effect. The status contains what
// cannot be derived from other objects: the number of restarts and the terminal state. It is written last, and only if the JobSet
// has not changed since it was observed, so a decision based on a stale cache is never recorded. The consequences of a decision
// (deleting the Jobs of earlier attempts, or the remaining ones) happen in the reconcile that sees the record.
//
// The only write before that is the epoch annotation, see epoch.go.
package jobset
