package leader

import (
	"slices"

	"github.com/holdfast-project/holdfast/shared/coordination/epoch"
	"github.com/holdfast-project/holdfast/shared/coordination/group"
)

// dropUnwanted drops a group that its owner no longer wants, once all of its restarts are in the history.
func (p *planner) dropUnwanted() {
	if p.wanted != nil || p.Owner.Roster != nil || (p.Stored == nil && p.Foreign == nil) {
		return
	}
	if p.group == nil || p.Owner.Deleted || p.Owner.HasRoster || p.accountFor(true) {
		p.do(DropGroup{})
	}
}

// restoreEpoch restores the epoch annotation if it is older than the epoch in the store.
func (p *planner) restoreEpoch() {
	if p.wanted == nil || p.Stored == nil || int64(p.Owner.Epoch.Epoch) >= p.Stored.State.Generation {
		return
	}
	base := max(0, int32(int64(p.Owner.Budget)-p.Stored.Config.Limit))
	p.do(Annotate{Epoch: &epoch.Record{Epoch: int32(p.Stored.State.Generation), Base: base, Cause: "restored"}})
}

// writeGroup updates the stored group to match what the owner wants.
func (p *planner) writeGroup() {
	if p.wanted != nil {
		p.write(p.want())
	}
}

// giveUpLate ends an in-place restart that has timed out. This moves the stored group to the Recreating phase, in which recreate
// opens the next epoch.
func (p *planner) giveUpLate() {
	if p.wanted != nil && p.clock != nil && p.clock.Passed(p.now) {
		want := p.want()
		want.GiveUp = true
		p.write(want)
	}
}

// want returns the group to write to the store. Its limit is the number of restarts left for the epoch.
func (p *planner) want() group.Wanted {
	o, want := &p.Owner, *p.wanted
	want.Token, want.Generation, want.Limit = p.Token, int64(o.Epoch.Epoch), int64(o.Budget.Left(o.Epoch.Base))
	for _, slot := range p.memory.seen.in(int64(o.Epoch.Epoch)).released {
		want.Fenced = append(want.Fenced, slot.Pod)
	}
	want.Finished = slices.DeleteFunc(slices.Clone(want.Finished), p.onlyEnded)
	want.Given = p.claimed()
	if !want.Barrier {
		want.MaxPause = 0 // without a barrier, workers do not wait before they start
	}
	if o.Counted {
		want.Round, want.Entered = int64(max(0, o.Charged-o.Epoch.Base)), p.entered()
	}
	return want
}

// entered returns how many steps have run in this generation. It is needed if the store has lost the group. A step has run if it
// has Jobs, including Jobs that another program is deleting, unless the condition reports that the first step has not formed yet.
func (p *planner) entered() int64 {
	c := p.Owner.InSync
	if c == nil || c.Reason == ReasonForming || c.Reason == ReasonUnreachable {
		return 0
	}
	if p.Owner.Served != nil && p.Owner.Served.Pods && c.Reason == ReasonRefused {
		return 0 // the group had a conflict, which is now resolved, and so cannot have run
	}
	var steps int64
	for _, stage := range p.wanted.Stages {
		for _, job := range p.Jobs {
			if job.Stage == stage.Prefix && !job.Spares && (job.Current || job.Deleting && job.Generation == p.Owner.Epoch.Epoch) {
				steps = max(steps, stage.Step+1)
				break
			}
		}
	}
	return steps
}
