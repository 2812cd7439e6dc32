package members

import (
	"slices"

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
