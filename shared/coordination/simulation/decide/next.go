package leader

import (
	"fmt"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/epoch"
	"github.com/holdfast-project/holdfast/shared/coordination/group"
	"github.com/holdfast-project/holdfast/shared/restart"
)

// Next is the next step, Nothing when the group is as it should be. It fails if the stages are more than a group can have.
func Next(in Input) (Step, error) {
	switch {
	case in.Wanted == nil && in.Stored == nil && !in.Foreign:
		return in.mark(""), nil
	case in.Wanted == nil:
		return Step{Kind: Drop}, nil
	case in.Stored != nil && int64(in.Epoch.Epoch) < in.Stored.State.Generation:
		return Step{Kind: RestoreEpoch, Epoch: in.storedEpoch()}, nil
	}
	step, needed, err := in.write(false)
	if needed || err != nil {
		return step, err
	}
	g := group.Summarize(in.Stored)
	switch {
	case in.Charged < in.due(g) || !in.Counted:
		return Step{Kind: Charge, Charged: max(in.Charged, in.due(g)), Mark: in.restarting(g.Phase)}, nil
	case in.Overdue:
		if step, needed, err := in.write(true); needed || err != nil {
			return step, err
		}
	case g.Phase == coordination.Recreating:
		return in.failOver(g), nil
	}
	return in.mark(g.Phase), nil
}

// write is what the group lacks in the store. The limit is what the epoch may still spend.
func (in Input) write(giveUp bool) (Step, bool, error) {
	want := group.Wanted{
		Token: in.Token, Generation: int64(in.Epoch.Epoch), Limit: int64(in.Budget.Left(in.Epoch.Base)), MaxPause: in.Wanted.MaxPause,
		Stages: in.Wanted.Stages, Suspended: in.Wanted.Suspended, Barrier: in.Wanted.Barrier, GiveUp: giveUp,
		Fenced: in.Wanted.Fenced, Finished: in.Wanted.Finished,
	}
	if !in.Wanted.Barrier {
		want.MaxPause = 0 // nothing waits before it starts
	}
	if in.Counted {
		want.Round, want.Entered = int64(max(0, in.Charged-in.Epoch.Base)), in.Wanted.Entered
	}
	w, needed, err := group.Next(in.Stored, want, in.Incarnation)
	return Step{Kind: WriteGroup, Write: w}, needed, err
}

// mark is set as long as a round is being restarted. It mostly comes with the round's charge, so that a restart costs two
// writes: this one afterwards takes it away.
func (in Input) mark(p coordination.Phase) Step {
	switch wanted := in.restarting(p); {
	case wanted && in.Mark != Marked, !wanted && in.Mark != Unmarked:
		return Step{Kind: WriteMark, Mark: wanted}
	}
	return Step{}
}

func (in Input) restarting(p coordination.Phase) bool {
	return in.Wanted != nil && p == coordination.Restarting && !in.Overdue
}

// due is what inplace-restarts must say: every round of this epoch, and in Terminal the failure that had no restart
// left, which takes the count over the budget (seed 000: "exceeds"). A closed group owes nothing.
func (in Input) due(g group.Summary) int32 {
	if g.Phase == coordination.Closed {
		return in.Charged
	}
	charged := restart.Charged(in.Epoch.Base, g.Round)
	if g.Phase == coordination.Terminal {
		charged = restart.Charged(charged, 1)
	}
	return charged
}

// failOver is one more charge, for the recreation; without budget for it, the charge alone fails the JobSet.
func (in Input) failOver(g group.Summary) Step {
	charged := restart.Charged(max(in.due(g), in.Charged), 1)
	spent := max(in.Charged, restart.Charged(in.Epoch.Base, g.Round))
	switch {
	case in.Budget.Exceeded(in.Charged):
		return Step{} // said already
	case !in.Budget.Allows(spent):
		return Step{Kind: Charge, Charged: charged}
	}
	cause := fmt.Sprintf("%s/%d/%d", g.Record.Cause.Kind, g.Generation, g.Round)
	next, opened := in.Epoch.NextRecreate(cause, charged)
	if !opened {
		return Step{}
	}
	return Step{Kind: FailOver, Epoch: next, Charged: charged}
}

// storedEpoch rebuilds a lost annotation from the store.
func (in Input) storedEpoch() epoch.Record {
	base := max(0, int32(int64(in.Budget)-in.Stored.Config.Limit))
	return epoch.Record{Epoch: int32(in.Stored.State.Generation), Base: base, Cause: "restored"}
}
