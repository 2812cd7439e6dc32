// Package members contains the rules for groups whose members come and go. The owner of such a group lists the members in a
// roster (package roster).
//
//	a new member          enters at the group's round once it has joined; other members are not affected
//	a member leaves       the members in sync with it restart in place once, and not again when another member replaces it
//	a failure             the store handles it: all members restart in place
//	no restarts left      the owner allows more restarts or continues without the member; other members are not stopped in the meantime
//	a member is missing   the owner replaces the pod; the others continue without it
//
// Such a group is never recreated as a whole, so only the owner opens epochs. If the store is waiting for a recreation, the group
// is closed and reopened, which does not stop any member. The package is pure.
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
	Roster *roster.Roster
	Group  *group.Summary // nil if the store has no readable group
	Known  bool           // the group existed before, so if the store does not have it, it was lost
	Round  int64          // the last known round of the group
	// Finished holds the members that have finished. Their peers do not restart when they leave.
	Finished []string
}

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

// stuck reports whether the group could continue but is in a phase that it can leave only by being closed: the member that caused
// the phase has left, or more restarts are allowed.
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

// maxSteps limits the step numbers.
const maxSteps = 256

// stages returns the stages of the group. The members in sync with the group form its first step. Members that arrive later form
// a step of their own, which enters once they have joined. They cannot use an existing step that has entered, because entering is
// permanent. The stages change only when members come or go.
func (in Input) stages() []coordination.Stage {
	switch {
	case in.fresh():
		return allIn(in.Roster.Members, 0)
	case in.same():
		return in.Group.Stages
	}
	var first, later, coming []string
	step := in.forming()
	for _, member := range in.Roster.Members {
		switch i := in.stageOf(member); {
		case i < 0:
			coming = append(coming, member)
		case in.Group.Stages[i].Step == 0 || in.entered(i):
			first = append(first, member)
		default:
			later = append(later, member)
		}
	}
	stages := append(allIn(first, 0), allIn(later, step)...)
	if step < maxSteps { // otherwise they are added in the next reconcile, when the steps have been renumbered
		stages = append(stages, allIn(coming, step)...)
	}
	if len(stages) == 0 {
		return allIn(in.Roster.Members, 0)
	}
	return stages
}

// fresh reports whether no member is ahead of the others, so that all of them start together.
func (in Input) fresh() bool {
	g := in.Group
	return g == nil || g.Generation != in.Roster.Epoch || g.Phase == coordination.Forming || len(g.Stages) == 0
}

// same reports whether the members of the group are those of the roster.
func (in Input) same() bool {
	missing := func(member string) bool { return in.stageOf(member) < 0 }
	return len(in.Group.Stages) == len(in.Roster.Members) && !slices.ContainsFunc(in.Roster.Members, missing)
}

// forming returns the number of the step that has not entered yet or, if there is none, the next unused number.
func (in Input) forming() int64 {
	var step int64
	for i, s := range in.Group.Stages {
		if s.Step > 0 && !in.entered(i) {
			return s.Step
		}
		step = max(step, s.Step)
	}
	return step + 1
}

// entered reports whether a stage is in sync with the group.
func (in Input) entered(stage int) bool {
	return in.Group.HasEntered(in.Group.Stages[stage])
}

func (in Input) stageOf(member string) int {
	return slices.IndexFunc(in.Group.Stages, func(s coordination.Stage) bool { return s.Prefix == member })
}

func allIn(members []string, step int64) []coordination.Stage {
	stages := make([]coordination.Stage, 0, len(members))
	for _, member := range members {
		stages = append(stages, roster.Stage(member, step))
	}
	return stages
}
