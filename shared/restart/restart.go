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
