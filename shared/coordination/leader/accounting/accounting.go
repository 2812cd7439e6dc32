// Package accounting turns what the store has recorded of a group's restarts into accounts: what each was caused by, how it
// ended, and where its time went. It is pure.
//
// The phases of a restart part the time from the failure to the moment at which all workers run, without gap or overlap:
//
//	failed     detected    reported, and ordered     all have joined, and run
//	   |--detect--|--order---|-----------start----------|
//
// What failed is the worker's exit by its node's clock; for a hang the last sign of progress; for a pod whose agent could not
// speak the moment at which the orchestrator learnt of it, because nobody knows better: detect is then 0. Clocks of nodes
// that differ from the store's show in order. A restart that another failure has overtaken ends where the next one begins.
package accounting

import (
	"cmp"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/epoch"
	"github.com/holdfast-project/holdfast/shared/history"
)

// Account is one restart.
type Account struct {
	history.Entry
	Slot  string             // of the worker that caused it
	Place coordination.Place // where it was
}

// Group is what the records are read with.
type Group struct {
	JobSet string
	Epoch  epoch.Record // the current one: its cause tells a recreation from a resumption
	// PolicyPrefix begins the causes of epochs that the failure policy has opened; PolicyCounted reports whether its last
	// restart was counted.
	PolicyPrefix  string
	PolicyCounted bool
	// Over: nothing follows the last record any more.
	Over bool
}

// KindPolicy is the cause of a recreation by the failure policy.
const KindPolicy = "policy"

// Of makes accounts of records, oldest first. Records of what was no restart have none: the first formation, a resumption, a
// failure that had no restart left. Nor has a restart that has not ended.
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
		end, ended = r.ReportedAt, history.GivenUp
	}
	if end == 0 || r.Ends {
		return Account{}, false
	}
	a := g.inPlace(r)
	a.Ended = ended
	a.Took = parts(r, begin(before, r), end)
	a.FailedAt = time.UnixMilli(begin(before, r)).UTC()
	return a, true
}

func (g Group) inPlace(r coordination.Record) Account {
	a := g.caused(r.Cause)
	a.Kind, a.Attempt, a.Counted = history.InPlace, history.Attempt{Epoch: r.Generation, Round: r.Round}, true
	return a
}

// caused is an account that knows only why.
func (g Group) caused(c coordination.Cause) Account {
	a := Account{Slot: c.Slot, Place: c.Place}
	a.Cause = history.Cause{Kind: c.Kind, ExitCode: c.ExitCode, Reason: c.Reason}
	if c.Signal > 0 {
		a.Cause.Signal = unix.SignalName(unix.Signal(c.Signal))
	}
	a.Worker = strings.TrimPrefix(c.Slot, g.JobSet+"-")
	return a.At(c.Place)
}

// At says where the worker was.
func (a Account) At(p coordination.Place) Account {
	a.Place = p
	a.Pod, a.Node = strings.TrimPrefix(p.PodName, a.Slot+"-"), p.Node
	return a
}

// endOf is when all ran again or, if that was not to be, when the next restart has begun; 0 while it goes on.
func endOf(r coordination.Record, after *coordination.Record) (int64, history.End) {
	switch {
	case r.InSyncAt > 0:
		return r.InSyncAt, history.Running
	case after == nil:
		return 0, history.Running
	case after.Generation == r.Generation && !after.Ends:
		return max(after.ReportedAt, r.ReportedAt), history.Overtaken
	}
	return max(after.ReportedAt, r.ReportedAt), history.GivenUp
}

// begin is when the outage began, no earlier than the end of the one before, and no later than the order.
func begin(before *coordination.Record, r coordination.Record) int64 {
	at := cmp.Or(r.FailedAt, r.DetectedAt, r.ReportedAt)
	if before != nil {
		if end, _ := endOf(*before, &r); end > 0 {
			at = max(at, end)
		}
	}
	return min(at, r.ReportedAt)
}

// parts divides the time from begin to end. Whatever is missing, or before what has to precede it, takes no time.
func parts(r coordination.Record, begin, end int64) (took [len(history.Phases)]time.Duration) {
	at := min(begin, end)
	until := func(phase history.Phase, moment int64) {
		moment = min(max(moment, at), end)
		took[phase] += milliseconds(moment - at)
		at = moment
	}
	until(history.Detect, min(r.DetectedAt, r.ReportedAt))
	until(history.Order, r.ReportedAt)
	until(history.Start, end)
	return took
}

func milliseconds(n int64) time.Duration { return time.Duration(n) * time.Millisecond }
