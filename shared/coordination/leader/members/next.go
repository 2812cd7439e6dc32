package members

import (
	"slices"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/group"
	"github.com/holdfast-project/holdfast/shared/roster"
)

// Want returns the group that the roster asks for, without a token.
func (in Input) Want() group.Wanted {
	want := group.Wanted{
		Generation: in.Roster.Epoch, Limit: in.Roster.Limit, Stages: in.stages(), Suspended: in.stuck(), Barrier: true, MaxPause: maxPause,
	}
	if in.Known {
		want.Round, want.Entered = min(in.Round, in.Roster.Limit), 1
	}
	return want
}

// maxPause limits how long members wait before they restart when previous rounds were short. It equals the default for JobSets.
const maxPause = 32 * time.Second

// stuck reports whether the group could continue but is in a phase that it only leaves by being closed: the member that caused the
// phase has left, or more restarts are allowed.
func (in Input) stuck() bool {
	g := in.Group
	if g == nil || g.Generation != in.Roster.Epoch {
		return false
	}
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

// Left returns a member that was in sync with others and has left the roster, or "" if there is none or no restart is left for
// its peers.
func (in Input) Left() string {
	g := in.Group
	if g == nil || g.Generation != in.Roster.Epoch || g.Phase != coordination.Running || g.Round >= min(in.Roster.Limit, g.Limit) {
		return ""
	}
	for _, s := range Gone(in.Roster, g) {
		if !slices.Contains(in.Finished, s.Prefix) {
			return s.Prefix
		}
	}
	return ""
}

// Gone returns the members that are running in the group but have left the roster.
func Gone(on *roster.Roster, g *group.Summary) []coordination.Stage {
	return slices.DeleteFunc(slices.Clone(g.Stages), func(s coordination.Stage) bool {
		return !g.HasEntered(s) || slices.Contains(on.Members, s.Prefix)
	})
}
