// Package restart counts the restarts of a workload against its budget. All controllers use it, so that a budget of N means N restarts
// everywhere. It is pure.
package restart

import "math"

// Budget is the number of allowed restarts, such as failurePolicy.maxRestarts of a JobSet. A negative budget counts as 0.
type Budget int32

// Allows reports whether another restart is allowed after `charged` restarts.
func (b Budget) Allows(charged int32) bool { return charged < b.max() }

// Exceeded reports whether the count exceeds the budget, so that the workload has failed. A count equal to the budget is the last allowed
// restart (KEP-876: "exceeds").
func (b Budget) Exceeded(charged int32) bool { return charged > b.max() }

// Most returns the highest count that a workload can reach: the budget plus one for the failure that exceeds it.
func (b Budget) Most() int32 { return Charged(b.max(), 1) }

// Left returns the number of remaining restarts. It is never negative.
func (b Budget) Left(charged int32) int32 { return max(0, b.max()-max(0, charged)) }

func (b Budget) max() int32 { return max(0, int32(b)) }

// Charged returns the number of restarts counted against a group's budget: base before the current epoch, plus one for each round in it.
// Negative inputs count as 0, and the sum saturates, so that a corrupt value never lowers a count.
func Charged(base int32, round int64) int32 {
	sum := int64(max(0, base)) + min(max(0, round), math.MaxInt32)
	return int32(min(sum, math.MaxInt32))
}
