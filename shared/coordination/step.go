package coordination

import "slices"

// Step is the state of the stages that start together. Its slots count neither for the group's size nor for its barrier
// until all of them have joined; then it enters at the group's round, and from there on all steps restart together.
type Step struct {
	Entered int64   // the round it entered at, NoRound while it forms
	Dirty   Failure // the first death in it while it formed without a barrier; without a Kind: none

	// While the group recovers:
	Known      bool  // it had entered: an agent says so, or the store did before
	Unassigned int64 // how often a slot of it had no living instance of a known round
	AtBarrier  int64 // likewise, at a barrier
}

func (s *Step) miss(barrier bool) {
	if barrier {
		s.AtBarrier++
	} else {
		s.Unassigned++
	}
}

// Count is what a stage's slots add up to. One that has left counts no more, and is not looked at again.
type Count struct {
	Joined int64 // in sync with the desired round; while its step forms, alive. Finished ones included
	Done   int64 // of those, finished
	Gone   int64 // of those, with nobody left to run them again
	Left   bool
}

// reset forgets everything about steps and stages, for g.Stages.
func (g *Group) reset() {
	n := int64(1)
	for _, s := range g.Stages {
		n = max(n, s.Step+1)
	}
	g.Counts = make([]Count, len(g.Stages))
	g.Steps = make([]Step, n)
	for k := range g.Steps {
		g.Steps[k].Entered = NoRound
	}
}

// stage is the index of a slot's stage, -1 if the slot is none of the group's.
func (g *Group) stage(slot string) int {
	for i, s := range g.Stages {
		if s.Has(slot) {
			return i
		}
	}
	return -1
}

func (g *Group) step(stage int) *Step { return &g.Steps[g.Stages[stage].Step] }

func (g *Group) forming(stage int) bool { return g.step(stage).Entered == NoRound }

// left tells whether all stages of a step have left.
func (g *Group) left(step int) bool {
	for i, s := range g.Stages {
		if s.Step == int64(step) && !g.Counts[i].Left {
			return false
		}
	}
	return true
}

// expected tells whether a stage's slots have to be in sync: its step has entered, or is known to have. Before the first
// one, all are waited for.
func (g *Group) expected(stage int) bool {
	return !g.Counts[stage].Left && (g.begun(stage) || !g.anyBegun())
}

func (g *Group) begun(stage int) bool { return !g.forming(stage) || g.step(stage).Known }

func (g *Group) anyBegun() bool {
	for i := range g.Stages {
		if !g.Counts[i].Left && g.begun(i) {
			return true
		}
	}
	return false
}

// complete tells whether all slots of a step have joined, but for those that have left.
func (g *Group) complete(step int) bool {
	for i, s := range g.Stages {
		if s.Step == int64(step) && !g.Counts[i].Left && g.Counts[i].Joined < s.Slots() {
			return false
		}
	}
	return true
}

// enterSteps lets the steps in that are complete, never one before those ahead of it. A death that their peers may hang
// on is answered when all are in sync.
func (g *Group) enterSteps() {
	for k := range g.Steps {
		step := &g.Steps[k]
		switch {
		case g.left(k) || step.Entered != NoRound:
		case !g.complete(k):
			return
		default:
			step.Entered = g.Round
			if step.Dirty.Kind != "" {
				g.soilAll(step.Dirty)
				step.Dirty = Failure{}
			}
		}
	}
}

// leaveStages lets the stages go that have finished and that nothing holds any longer.
func (g *Group) leaveStages() {
	for i, s := range g.Stages {
		c := &g.Counts[i]
		held := c.Gone < c.Done && s.Release != ReleaseGate && !g.succeeded()
		if c.Done == s.Slots() && !held {
			c.Left = true
		}
	}
}

// succeeded tells whether all that is needed has finished: the stages that say so and the gates; if none says so, all that
// are not free; if all but gates are free, every one.
func (g *Group) succeeded() bool {
	for i, s := range g.Stages {
		if g.Counts[i].Done < s.Slots() && g.needed(s.Release) {
			return false
		}
	}
	return true
}

func (g *Group) needed(r Release) bool {
	has := func(wanted Release) bool {
		return slices.ContainsFunc(g.Stages, func(s Stage) bool { return s.Release == wanted })
	}
	switch {
	case has(ReleaseNeeded):
		return r == ReleaseNeeded || r == ReleaseGate
	case has(ReleaseHeld):
		return r != ReleaseFree
	}
	return true
}

// nextRound takes the steps that have entered out of sync. Their finished workers run again.
func (g *Group) nextRound() {
	for i := range g.Counts {
		if !g.forming(i) && !g.Counts[i].Left {
			g.Counts[i] = Count{}
		}
	}
}

// inSync tells whether all slots of the steps that have entered are of the desired round.
func (g *Group) inSync() bool {
	entered := false
	for k, step := range g.Steps {
		if step.Entered != NoRound && !g.complete(k) {
			return false
		}
		entered = entered || step.Entered != NoRound
	}
	return entered
}

// stuck tells whether a finished worker of a step that has entered cannot run again.
func (g *Group) stuck() bool {
	for i, c := range g.Counts {
		if c.Gone > 0 && !c.Left && !g.forming(i) {
			return true
		}
	}
	return false
}
