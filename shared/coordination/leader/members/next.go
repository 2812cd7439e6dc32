package members

import (
	"slices"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/group"
	"github.com/holdfast-project/holdfast/shared/roster"
)

// Input is the input of a decision.
type Input struct {
	Roster  *roster.Roster
	Group   *group.Summary // nil if the store has none
	Foreign bool           // the data in the store is unreadable
	Known   bool           // the group existed before, so a store without it has lost it
	Round   int64          // the last known round of the group
	// Finished members are not lost when they leave.
	Finished []string
}

// Step is the next thing to do. The zero Step means that the group is as wanted.
type Step struct {
	Release string        // the member that has left: its peers restart
	Open    *group.Wanted // the wanted group, without a token
}

// Next returns the next step.
func Next(in Input) Step {
	switch g := in.Group; {
	case len(in.Roster.Members) == 0:
		return Step{} // a group without members does not change until it has some
	case g == nil || in.Foreign || in.Roster.Epoch > g.Generation:
		return in.open(false)
	case in.Roster.Epoch < g.Generation:
		return Step{} // the roster is outdated
	case g.Phase == coordination.Closed:
		return in.open(false)
	case in.stuck():
		return in.open(true)
	case g.Phase == coordination.Terminal || g.Phase == coordination.Recreating:
		return Step{} // it is the owner's turn
	}
	return in.follow()
}

// follow updates the group according to the roster.
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

// stuck reports whether the group is in a phase that ends only by closing it, although it can continue: the member that caused the
// phase has left, or may restart again.
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

// gone returns a member that was in sync with others and has left the roster, if its peers can be restarted for it.
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

// Gone returns the members that run in the group and have left the roster.
func Gone(on *roster.Roster, g *group.Summary) []coordination.Stage {
	return slices.DeleteFunc(slices.Clone(g.Stages), func(s coordination.Stage) bool {
		return !g.HasEntered(s) || slices.Contains(on.Members, s.Prefix)
	})
}

// maxPause limits how long members wait before they start, when restarts end early. It is the default of a JobSet.
const maxPause = 32 * time.Second

// open returns the step that opens the wanted group.
func (in Input) open(closed bool) Step {
	want := group.Wanted{
		Generation: in.Roster.Epoch, Limit: in.Roster.Limit, Stages: in.stages(), Suspended: closed, Barrier: true, MaxPause: maxPause,
	}
	if in.Known {
		want.Round, want.Entered = min(in.Round, in.Roster.Limit), 1
	}
	return Step{Open: &want}
}
