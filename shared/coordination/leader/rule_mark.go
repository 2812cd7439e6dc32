package leader

import (
	"slices"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/leader/workload"
	"github.com/holdfast-project/holdfast/shared/recovering"
)

// recreationTime is how long higher levels wait for a recreation that does not finish. An AppWrapper allows its pods the same
// time to start running.
const recreationTime = 5 * time.Minute

// mark maintains the annotation that asks higher levels of the ladder to wait while a restart is in progress. It is usually
// written together with the restart count, so that a restart takes two writes; the second one removes the annotation.
func (p *planner) mark() {
	wanted, state := p.marks(), p.markState()
	if (wanted && state != markSet) || (!wanted && state != markAbsent) {
		if a := p.marked(Annotate{}, wanted); a.Recovering != nil || a.ClearRecovering {
			p.do(a)
		}
	}
}

// marks reports whether the owner should be marked as recovering.
func (p *planner) marks() bool { return p.wanted != nil && p.clock != nil && !p.clock.Passed(p.now) }

// marked extends the annotations in a so that they also mark the owner as recovering or, if set is false, remove our mark. It
// does not touch marks written by other programs.
func (p *planner) marked(a Annotate, set bool) Annotate {
	if !set {
		a.ClearRecovering = p.markState() != markAbsent
		return a
	}
	level := recovering.LevelProcess // all agents are supervisors
	if slices.ContainsFunc(p.Jobs, func(job *workload.Job) bool { return job.Sidecar }) {
		level = recovering.LevelGroup
	}
	state := recovering.State{Level: level, Reason: CauseText(p.group.Record.Cause), Deadline: p.clock.Start.Add(p.clock.Period)}
	if now, found := recovering.Of(p.Owner.Annotations); found && now.Level == recovering.LevelRecreate { // this is our mark; the recreation has finished and a worker has already died again
		a.Recovering = &state
		return a
	}
	return p.placed(a, state)
}

// placed extends the annotations in a so that they also mark the owner, unless it is already marked or a higher recovery level is
// active.
func (p *planner) placed(a Annotate, state recovering.State) Annotate {
	if _, write := recovering.Place(p.Owner.Annotations, state, p.now); write {
		a.Recovering = &state
	}
	return a
}

// markState is the state of the recovery annotation.
type markState int

const (
	markAbsent   markState = iota
	markSet                // ours, and its deadline has not passed
	markOutdated           // unreadable, or its deadline has passed
)

// markState returns the state of the recovery annotation. If its deadline has passed, it belongs to an earlier round, or was
// written by an earlier leader that started the clock of this round sooner. The mark of a recreation stays until the workers have
// formed the group.
func (p *planner) markState() markState {
	if _, found := p.Owner.Annotations[recovering.Annotation]; !found {
		return markAbsent
	}
	forms := p.Owner.Undecided // not all workers of the new epoch have joined
	if p.group != nil {
		forms = p.group.Phase == coordination.Forming || p.group.Phase == coordination.Recreating
	}
	state, readable := recovering.Of(p.Owner.Annotations)
	switch {
	case !readable:
		return markOutdated
	case state.Level == recovering.LevelRecreate && (!forms || !state.Live(p.now)):
		return markOutdated
	case state.Level > recovering.LevelRecreate && p.clock != nil && state.Live(p.now):
		return markSet // a higher level replaces the whole workload, and this restart is part of that
	case state.Level > recovering.LevelGroup:
		return markAbsent
	case !state.Live(p.now):
		return markOutdated
	}
	return markSet
}
