package forming

import (
	"github.com/holdfast-project/holdfast/shared/coordination/epoch"
	"github.com/holdfast-project/holdfast/shared/restart"
)

// Charge counts failures before the first join against the budget: it adds the failures that the base of the epoch does not include
// yet. It returns the new epoch and the new number of charged restarts, or false if there is nothing to charge. It does not charge
// anything beyond the failure that fails the JobSet.
func Charge(e epoch.Record, charged int32, budget restart.Budget, round int64, failures int32) (epoch.Record, int32, bool) {
	more := failures - e.Early
	if more <= 0 || budget.Exceeded(charged) {
		return e, charged, false
	}
	last := budget.Left(restart.Charged(e.Base, round)) + 1
	e.Base, e.Early = restart.Charged(e.Base, int64(min(more, last))), failures
	return e, max(charged, restart.Charged(e.Base, round)), true
}
