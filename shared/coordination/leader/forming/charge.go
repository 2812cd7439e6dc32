package forming

import (
	"github.com/holdfast-project/holdfast/shared/coordination/epoch"
	"github.com/holdfast-project/holdfast/shared/restart"
)

// Account is the input and the result of a charge.
type Account struct {
	Epoch   epoch.Record
	Round   int64 // of the group
	Charged int32 // annotation inplace-restarts
	Budget  restart.Budget
}

// Fail charges failures before the first join: the base of the epoch grows by the failures that it does not include yet. It returns
// false if there is nothing to charge. It charges nothing beyond the failure that fails the JobSet.
func (a Account) Fail(failures int32) (Account, bool) {
	more := failures - a.Epoch.Early
	if more <= 0 || a.Budget.Exceeded(a.Charged) {
		return a, false
	}
	last := a.Budget.Left(a.due()) + 1
	a.Epoch.Base = restart.Charged(a.Epoch.Base, int64(min(more, last)))
	a.Epoch.Early = failures
	a.Charged = max(a.Charged, a.due())
	return a, true
}

func (a Account) due() int32 { return restart.Charged(a.Epoch.Base, a.Round) }
