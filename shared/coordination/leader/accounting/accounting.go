// Package accounting turns the restart records in the store into accounts: the cause of each restart, how it ended, and how long
// its phases took. It is pure.
//
// The phases divide the time from the failure until all workers are running, without gaps or overlap:
//
//	failed     detected    reported, and ordered     all joined and running
//	   |--detect--|--order---|-----------start----------|
//
// A failure begins when the worker exits, according to its node's clock. A hang begins at the last sign of progress. If a pod's
// agent could not report, the failure begins when the orchestrator learns of the loss; detect is then 0. The difference between a
// node's clock and the store's clock is part of order. A restart that is overtaken by another failure ends when the next restart
// begins.
package accounting

import (
	"cmp"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/epoch"
	"github.com/holdfast-project/holdfast/shared/coordination/leader/forming"
	"github.com/holdfast-project/holdfast/shared/history"
)

// Account describes one restart.
type Account struct {
	history.Entry
	Slot  string             // slot of the worker that caused it
	Place coordination.Place // where that worker ran
}

// Group describes the group that the records belong to.
type Group struct {
	JobSet string
	Epoch  epoch.Record // the current epoch; its cause distinguishes recreation from resume
	// PolicyPrefix is the prefix of an epoch's cause if the failure policy opened the epoch. PolicyCounted reports whether the
	// policy's last restart counted against the budget.
	PolicyPrefix  string
	PolicyCounted bool
	// Over means that no record will follow the last one.
	Over bool
}

// KindPolicy is the cause of a recreation by the failure policy.
const KindPolicy = "policy"

// Of returns the accounts for the records, oldest first. Records that are not restarts have no account: the first formation, a
// resume, and a failure for which no restart was left. Neither do restarts that are still in progress.
func Of(g Group, records []coordination.Record) []Account {
	var list []Account
	for i := range records {
		var before, after *coordination.Record
		if i > 0 {
			before = &records[i-1]
		}
		if i+1 < len(records) {
			after = &records[i+1]
		}
		if a, ok := g.account(before, records[i], after); ok {
			list = append(list, a)
		}
	}
	return list
}

func (g Group) account(before *coordination.Record, r coordination.Record, after *coordination.Record) (Account, bool) {
	if r.Round == 0 {
		return g.recreation(before, r, after)
	}
	end, ended := endOf(r, after)
	if ended == history.Running && end == 0 && g.Over {
		end, ended = r.ReportedAt, history.Abandoned
	}
	if end == 0 || r.Ends {
		return Account{}, false
	}
	a := g.caused(r.Cause)
	a.Kind, a.Attempt, a.Counted, a.Ended = history.InPlace, history.Attempt{Epoch: r.Generation, Round: r.Round}, true, ended
	a.Took = parts(r, begin(before, r), end)
	a.FailedAt = time.UnixMilli(begin(before, r)).UTC()
	return a, true
}

// recreation returns the account of an epoch's formation if the epoch was opened by a full recreation or by the failure policy. It
// includes the time before the epoch that no account of an in-place restart covers.
func (g Group) recreation(before *coordination.Record, r coordination.Record, after *coordination.Record) (Account, bool) {
	end, ended := endOf(r, after)
	if end == 0 {
		return Account{}, false
	}
	current := int64(g.Epoch.Epoch) == r.Generation // only the previous record shows why an earlier epoch was opened
	if before != nil && (before.Generation >= r.Generation || !before.Ends) {
		before = nil // it is not the failure that ended the previous epoch
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

// failOver returns the account of a full recreation. Its cause and start time are those of the failure that ended in-place
// restarts. If the group timed out while forming, there is no such failure: the previous record belongs to another epoch.
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

// caused returns an account in which only the cause and the worker's place are set.
func (g Group) caused(c coordination.Cause) Account {
	a := Account{Slot: strings.TrimPrefix(c.Slot, "-"), Place: c.Place} // "-" is the store's word for no slot
	a.Cause = history.Cause{Kind: c.Kind, ExitCode: c.ExitCode, Signal: unix.SignalName(unix.Signal(c.Signal)), Reason: c.Reason}
	a.Worker = strings.TrimPrefix(a.Slot, g.JobSet+"-")
	return a.At(c.Place)
}

// At returns the account with the worker's place set.
func (a Account) At(p coordination.Place) Account {
	a.Place = p
	a.Pod, a.Node = strings.TrimPrefix(p.PodName, a.Slot+"-"), p.Node
	return a
}

// endOf returns when and how a restart ended. It ended when all workers were running again or, failing that, when the next restart
// began. The time is 0 while the restart is in progress.
func endOf(r coordination.Record, after *coordination.Record) (int64, history.End) {
	switch {
	case r.InSyncAt > 0:
		return r.InSyncAt, history.Running
	case after == nil:
		return 0, history.Running
	case after.Generation == r.Generation && !after.Ends:
		return max(after.ReportedAt, r.ReportedAt), history.Overtaken
	}
	return max(after.ReportedAt, r.ReportedAt), history.Abandoned
}

// begin returns when the outage began, but no earlier than the end of the previous outage and no later than the order.
func begin(before *coordination.Record, r coordination.Record) int64 {
	at := cmp.Or(r.FailedAt, r.DetectedAt, r.ReportedAt)
	if before != nil {
		if end, _ := endOf(*before, &r); end > 0 {
			at = max(at, end)
		}
	}
	return min(at, r.ReportedAt)
}

// parts divides the time from begin to end into phases. A phase with a missing or out-of-order time gets a duration of zero.
func parts(r coordination.Record, begin, end int64) (took [len(history.Phases)]history.Milliseconds) {
	at := min(begin, end)
	until := func(phase history.Phase, moment int64) {
		moment = min(max(moment, at), end)
		took[phase] += history.Milliseconds(moment - at)
		at = moment
	}
	until(history.Detect, min(r.DetectedAt, r.ReportedAt))
	until(history.Order, r.ReportedAt)
	until(history.Start, end)
	return took
}
