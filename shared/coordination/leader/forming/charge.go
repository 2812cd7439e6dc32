package forming

import (
	"github.com/holdfast-project/holdfast/shared/coordination/epoch"
	"github.com/holdfast-project/holdfast/shared/restart"
)

// Account is what a decision is charged to.
type Account struct {
	Epoch   epoch.Record
	Round   int64 // of the group
	Charged int32 // annotation inplace-restarts
	Budget  restart.Budget
}

// Fail charges failures before the first join: the epoch's base grows by those that it does not contain yet. It returns false if there is
// nothing to charge. Nothing is charged beyond the failure that ends the JobSet.
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
