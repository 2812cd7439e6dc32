package accounting

import (
	"cmp"
	"strings"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/leader/forming"
	"github.com/holdfast-project/holdfast/shared/history"
)

// recreation returns the account of an epoch's formation, if the epoch was opened by a full recreation or a restart of the failure
// policy. It includes the time before the epoch that belongs to no account of an in-place restart.
func (g Group) recreation(before *coordination.Record, r coordination.Record, after *coordination.Record) (Account, bool) {
	end, ended := endOf(r, after)
	if end == 0 {
		return Account{}, false
	}
	current := int64(g.Epoch.Epoch) == r.Generation // for a past epoch, only the previous record shows why it was opened
	if before != nil && (before.Generation >= r.Generation || !before.Ends) {
		before = nil // it is not the failure that ended the epoch before
	}
	var a Account
	switch {
	case current && g.Epoch.Recreate == g.Epoch.Epoch, !current && before != nil:
		a = g.failOver(before, r, end)
	case current && g.PolicyPrefix != "" && strings.HasPrefix(g.Epoch.Cause, g.PolicyPrefix):
		a = g.caused(coordination.Cause{Kind: KindPolicy})
		a.Counted, a.FailedAt = g.PolicyCounted, time.UnixMilli(r.ReportedAt).UTC()
		a.Took = parts(r, r.ReportedAt, end)
	default:
		return Account{}, false
	}
	a.Kind, a.Attempt, a.Ended = history.Recreation, history.Attempt{Epoch: r.Generation}, ended
	return a, true
}

// failOver returns the account of a full recreation. Its cause and its beginning are those of the failure that ended in-place
// restarts. A formation that timed out has no such record: the previous record belongs to another epoch.
func (g Group) failOver(before *coordination.Record, r coordination.Record, end int64) Account {
	cause, _, _ := strings.Cut(g.Epoch.Cause, "/")
	from, why := r, coordination.Cause{Kind: cause}
	if cause != forming.KindForming && before != nil {
		why = before.Cause
		from.FailedAt, from.DetectedAt = cmp.Or(before.FailedAt, before.ReportedAt), before.DetectedAt
	}
	a := g.caused(why)
	start := begin(nil, from)
	a.Counted, a.FailedAt, a.Took = true, time.UnixMilli(start).UTC(), parts(from, start, end)
	return a
}
