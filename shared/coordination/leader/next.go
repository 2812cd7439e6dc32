package leader

import (
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/epoch"
	"github.com/holdfast-project/holdfast/shared/restart"
)

// Next is the next step, Nothing when the group is as it should be.
func Next(in Input) Step {
	switch {
	case in.Wanted == nil && in.Group == nil && !in.Foreign:
		return in.mark()
	case in.Wanted == nil:
		return Step{Kind: Drop}
	case in.Group == nil || in.Foreign:
		return Step{Kind: OpenGroup, Open: in.open()}
	case int64(in.Epoch.Epoch) < in.Group.Epoch:
		return Step{Kind: RestoreEpoch, Epoch: in.storedEpoch()}
	case in.outOfDate(), in.knowsMoreFinished():
		return Step{Kind: OpenGroup, Open: in.open()}
	case in.Charged < in.due() || !in.Counted:
		return Step{Kind: Charge, Charged: max(in.Charged, in.due()), Mark: in.restarting()}
	}
	return in.nextOfPhase()
}

func (in Input) nextOfPhase() Step {
	switch {
	case in.Overdue && Timed(*in.Group):
		return Step{Kind: GiveUp}
	case in.Group.Phase == coordination.Recreating:
		return in.failOver()
	}
	return in.mark()
}

// Timed tells whether the group is against the clock: while it restarts, and while it asks the agents though somebody has
// died meanwhile, because the peers may hang. Merely lost data are no reason to stop anybody.
func Timed(g coordination.Summary) bool {
	return g.Phase == coordination.Restarting || (g.Phase == coordination.Recovering && g.Dirty)
}

// mark is set as long as a round is being restarted. It mostly comes with the round's charge, so that a restart costs two
// writes: this one afterwards takes it away.
func (in Input) mark() Step {
	switch wanted := in.restarting(); {
	case wanted && in.Mark != Marked, !wanted && in.Mark != Unmarked:
		return Step{Kind: WriteMark, Mark: wanted}
	}
	return Step{}
}

func (in Input) restarting() bool {
	return in.Wanted != nil && in.Group != nil && in.Group.Phase == coordination.Restarting && !in.Overdue
}

// open is the group as it is wanted. The limit is what the epoch may still spend.
func (in Input) open() coordination.Open {
	return coordination.Open{
		Epoch:     int64(in.Epoch.Epoch),
		Limit:     int64(in.Budget.Left(in.Epoch.Base)),
		Stages:    in.Wanted.Stages,
		Suspended: in.Wanted.Suspended,
		Recover:   in.Counted,
		Done:      in.Wanted.Done,
		Reset:     in.Foreign,
		MaxDelay:  in.Wanted.MaxDelay.Truncate(time.Millisecond), // what the store keeps
	}
}

func (in Input) outOfDate() bool {
	g, o := in.Group, in.open()
	closed := g.Phase == coordination.Closed
	return g.Epoch != o.Epoch || g.Limit != o.Limit || closed != o.Suspended || g.MaxDelay != o.MaxDelay || !slices.Equal(g.Stages, o.Stages)
}

// knowsMoreFinished: while slots are waited for, nobody will join for a worker that has finished. And a stage whose Jobs
// are complete goes, even if the store never heard the last of its workers.
func (in Input) knowsMoreFinished() bool {
	more := int64(len(in.Wanted.Done)) > in.Group.Done
	return more && !in.Opened && (in.waitsForJoins() || in.knowsWholeStage())
}

// waitsForJoins tells whether slots are still to join for the first time: a step may form while others run.
func (in Input) waitsForJoins() bool {
	switch in.Group.Phase {
	case coordination.Forming, coordination.Recovering:
		return true
	case coordination.Running, coordination.Restarting:
		return slices.ContainsFunc(in.Group.Stages, in.forms)
	}
	return false
}

func (in Input) forms(s coordination.Stage) bool {
	_, entered := in.Group.Entered(s.Step)
	return !entered && !in.Group.Left(s.Step)
}

func (in Input) knowsWholeStage() bool {
	active := in.Group.Phase == coordination.Running || in.Group.Phase == coordination.Restarting
	for i, s := range in.Group.Stages {
		if active && i < len(in.Group.Counts) && !in.Group.Counts[i].Left && in.finished(s) == s.Slots() {
			return true
		}
	}
	return false
}

func (in Input) finished(s coordination.Stage) int64 {
	var n int64
	for _, slot := range in.Wanted.Done {
		if s.Has(slot) {
			n++
		}
	}
	return n
}

// due is what inplace-restarts must say: every round of this epoch, and in Terminal the failure that had no restart
// left, which takes the count over the budget (seed 000: "exceeds"). A closed group owes nothing.
func (in Input) due() int32 {
	if in.Group.Phase == coordination.Closed {
		return in.Charged
	}
	charged := restart.Charged(in.Epoch.Base, in.Group.Round)
	if in.Group.Phase == coordination.Terminal {
		charged = restart.Charged(charged, 1)
	}
	return charged
}

// failOver is one more charge, for the recreation; without budget for it, the charge alone fails the JobSet.
func (in Input) failOver() Step {
	charged := restart.Charged(max(in.due(), in.Charged), 1)
	spent := max(in.Charged, restart.Charged(in.Epoch.Base, in.Group.Round))
	switch {
	case in.Budget.Exceeded(in.Charged):
		return Step{} // said already
	case !in.Budget.Allows(spent):
		return Step{Kind: Charge, Charged: charged}
	}
	cause := fmt.Sprintf("%s/%d/%d", in.Group.Record.Cause.Kind, in.Group.Epoch, in.Group.Round)
	next, opened := in.Epoch.NextRecreate(cause, charged)
	if !opened {
		return Step{}
	}
	return Step{Kind: FailOver, Epoch: next, Charged: charged}
}

// storedEpoch rebuilds a lost annotation from the store.
func (in Input) storedEpoch() epoch.Record {
	base := max(0, int32(int64(in.Budget)-in.Group.Limit))
	return epoch.Record{Epoch: int32(in.Group.Epoch), Base: base, Cause: "restored"}
}
