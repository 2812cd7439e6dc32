package members

import (
	"slices"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/group"
	"github.com/holdfast-project/holdfast/shared/roster"
)

// Input is all a decision rests on.
type Input struct {
	Roster  *roster.Roster
	Group   *group.Summary // nil: the store holds none
	Foreign bool           // what the store holds is unreadable
	Known   bool           // the group was there before: a store without it has lost it
	Round   int64          // of the group that was there before
	// Finished members are no loss when they go.
	Finished []string
}

// Step is the next thing to do. The zero value: the group is as it should be.
type Step struct {
	Release string        // the member that is gone: its peers restart
	Open    *group.Wanted // what the group is to be, without token
}

// Next is the next step.
func Next(in Input) Step {
	switch g := in.Group; {
	case len(in.Roster.Members) == 0:
		return Step{} // a group without members stays as it is until one comes
	case g == nil || in.Foreign || in.Roster.Epoch > g.Generation:
		return in.open(false)
	case in.Roster.Epoch < g.Generation:
		return Step{} // an older state of the owner
	case g.Phase == coordination.Closed:
		return in.open(false)
	case in.stuck():
		return in.open(true)
	case g.Phase == coordination.Terminal || g.Phase == coordination.Recreating:
		return Step{} // its owner's turn
	}
	return in.follow()
}

// follow the roster.
func (in Input) follow() Step {
	if gone := in.gone(); gone != "" {
		return Step{Release: gone}
	}
	if o := in.open(false); in.complete() || in.Group.Limit != o.Open.Limit || !sameStages(in.Group.Stages, o.Open.Stages) {
		return o
	}
	return Step{}
}

// complete reports whether all workers have finished.
func (in Input) complete() bool {
	if in.Group.Phase == coordination.Completed {
		return false
	}
	works := func(u group.Unit) bool { return !u.Left && u.Done < u.Slots }
	return !slices.ContainsFunc(in.Group.Units, works)
}

// stuck reports whether the group is in a phase that only ends by closing it, though it can go on: the member that brought it there is gone,
// or may restart again.
func (in Input) stuck() bool {
	g := in.Group
	cause := roster.MemberOf(g.Record.Cause.Slot)
	gone := cause == "" || !slices.Contains(in.Roster.Members, cause)
	switch g.Phase {
	case coordination.Terminal:
		return (cause != "" && gone) || in.Roster.Limit > g.Round
	case coordination.Recreating:
		return gone
	}
	return false
}

// gone is a member that was in step with others and is not on the roster any more, while its peers can be restarted for it.
func (in Input) gone() string {
	g := in.Group
	if g.Phase != coordination.Running || g.Round >= in.Roster.Limit || g.Round >= g.Limit {
		return ""
	}
	for _, s := range Gone(in.Roster, g) {
		if !slices.Contains(in.Finished, s.Prefix) {
			return s.Prefix
		}
	}
	return ""
}

// Gone are the members that run in the group and are not on the roster any more.
func Gone(on *roster.Roster, g *group.Summary) []coordination.Stage {
	return slices.DeleteFunc(slices.Clone(g.Stages), func(s coordination.Stage) bool {
		return !g.HasEntered(s) || slices.Contains(on.Members, s.Prefix)
	})
}

// maxPause bounds how long members wait before they start, when restarts end early: what a JobSet has by default.
const maxPause = 32 * time.Second

// open is the group as it is wanted.
func (in Input) open(closed bool) Step {
	want := group.Wanted{
		Generation: in.Roster.Epoch, Limit: in.Roster.Limit, Stages: in.stages(), Suspended: closed, Barrier: true, MaxPause: maxPause,
	}
	if in.Known {
		want.Round, want.Entered = min(in.Round, in.Roster.Limit), 1
	}
	return Step{Open: &want}
}
