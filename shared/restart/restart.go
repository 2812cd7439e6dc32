// Package restart counts the restarts of a workload against its budget.
//
// Every controller counts through this package, so that "N allows N restarts" means the same everywhere. It is pure: no
// clock, no client, no logger.
package restart

import (
	"math"
)

// Budget is the number of restarts a workload may use up (failurePolicy.maxRestarts for a JobSet; no failurePolicy is 0).
// A negative budget is taken as 0.
type Budget int32

// Allows tells whether one more restart may happen when `charged` restarts have been counted already.
func (b Budget) Allows(charged int32) bool { return charged < b.max() }

// Exceeded tells whether the count has gone past the budget: the workload has failed. The count that equals the budget
// is its last allowed restart (seed 000: "exceeds").
func (b Budget) Exceeded(charged int32) bool { return charged > b.max() }

// Left is how many restarts remain, never negative.
func (b Budget) Left(charged int32) int32 { return max(0, b.max()-max(0, charged)) }

func (b Budget) max() int32 { return max(0, int32(b)) }

// Charged is the count of a group: what was charged before its epoch, and one for each round opened in it. Negative
// inputs count as 0 and the sum saturates, so a corrupt value can never lower a count.
func Charged(base int32, round int64) int32 {
	sum := int64(max(0, base)) + min(max(0, round), math.MaxInt32)
	return int32(min(sum, math.MaxInt32))
}

// Ledger answers "has this attempt been counted?" once per (uid, attempt). A controller that counts from a cache may see
// the same attempt several times, or an older one after a newer: both are no news. Attempts of one uid grow.
//
// The zero value is ready for use. A Ledger is not safe for concurrent use.
type Ledger struct{ highest map[string]int64 }

// Record counts the attempt and returns true, or returns false when this attempt or a later one was counted already.
func (l *Ledger) Record(uid string, attempt int64) bool {
	if l.highest == nil {
		l.highest = map[string]int64{}
	}
	if seen, ok := l.highest[uid]; ok && attempt <= seen {
		return false
	}
	l.highest[uid] = attempt
	return true
}

// Counted tells whether this attempt or a later one was counted already.
func (l *Ledger) Counted(uid string, attempt int64) bool {
	seen, ok := l.highest[uid]
	return ok && attempt <= seen
}

// Forget drops what is known of a uid; call it when the object is gone.
func (l *Ledger) Forget(uid string) { delete(l.highest, uid) }
