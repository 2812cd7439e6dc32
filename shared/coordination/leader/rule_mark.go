package leader

import (
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/recovering"
)

// recreationTime is how long higher levels wait for a recreation that does not end. An AppWrapper gives its pods the same time to
// run.
const recreationTime = 5 * time.Minute

// mark maintains the annotation that asks higher levels of the ladder to wait while a restart is in progress. In most cases it is
// written together with the charge of the round, so that a restart takes two writes: the second one removes it.
func (p *planner) mark() {
	wanted, state := p.marks(), p.markState()
	if (wanted && state != markSet) || (!wanted && state != markAbsent) {
		if a := p.marked(Annotate{}, wanted); a.Recovering != nil || a.ClearRecovering {
			p.do(a)
		}
	}
}

// marks reports whether the owner should be marked.
func (p *planner) marks() bool { return p.wanted != nil && p.clock != nil && !p.clock.Passed(p.now) }

// marked adds the mark to an annotation, or removes ours. It does not change the mark of another program.
func (p *planner) marked(a Annotate, set bool) Annotate {
	if !set {
		a.ClearRecovering = p.markState() != markAbsent
		return a
	}
	state := recovering.State{Level: p.recoveryLevel(), Reason: CauseText(p.group.Record.Cause), Deadline: p.clock.Start.Add(p.clock.Period)}
	if now, found := p.recovery(); found && now.Level == recovering.LevelRecreate { // the mark is ours: the recreation is over, and a worker has died already
		a.Recovering = &state
		return a
	}
	return p.placed(a, state)
}

// placed adds a mark, unless it exists already or a higher level is at work.
func (p *planner) placed(a Annotate, state recovering.State) Annotate {
	if _, write := recovering.Place(p.Owner.Annotations, state, p.now); write {
		a.Recovering = &state
	}
	return a
}

// markState is the state of the annotation.
type markState int

const (
	markAbsent   markState = iota
	markSet                // ours, and its deadline has not passed
	markOutdated           // unreadable, or its deadline has passed
)

// markState returns the state of the annotation. A deadline that has passed belongs to an earlier round, or to a leader whose clock
// for this round began earlier. The mark of a recreation stays until its workers have formed the group.
func (p *planner) markState() markState {
	if _, found := p.Owner.Annotations[recovering.Annotation]; !found {
		return markAbsent
	}
	state, readable := p.recovery()
	switch {
	case !readable:
		return markOutdated
	case state.Level == recovering.LevelRecreate && (!p.isRecreated() || !state.Live(p.now)):
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

// isRecreated reports whether workers of the new epoch have not joined yet.
func (p *planner) isRecreated() bool {
	if p.group == nil {
		return p.Owner.Undecided
	}
	return p.group.Phase == coordination.Forming || p.group.Phase == coordination.Recreating
}
