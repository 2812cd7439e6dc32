package leader

import (
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/recovering"
)

// recreationTime is how long higher levels leave a recreation alone that does not end: what an AppWrapper gives pods to run.
const recreationTime = 5 * time.Minute

// mark keeps the annotation by which higher levels of the ladder are asked to wait as long as a restart is in progress. It mostly comes with the
// charge of the round, so that a restart costs two writes: this one afterwards takes it away.
func (p *planner) mark() {
	wanted, state := p.marks(), p.markState()
	if (wanted && state != markSet) || (!wanted && state != markAbsent) {
		if a := p.marked(Annotate{}, wanted); a.Recovering != nil || a.ClearRecovering {
			p.do(a)
		}
	}
}

// marks reports whether the owner is to be marked.
func (p *planner) marks() bool {
	overdue := p.clock != nil && p.clock.Passed(p.now)
	return p.wanted != nil && p.group != nil && p.group.Phase == coordination.Restarting && !overdue
}

// marked adds the mark to an annotation, or takes ours away; a mark of another program is not ours.
func (p *planner) marked(a Annotate, set bool) Annotate {
	if !set {
		a.ClearRecovering = p.markState() != markAbsent
		return a
	}
	state := recovering.State{Rung: p.recoveryLevel(), Reason: CauseText(p.group.Record.Cause), Deadline: p.clock.Start.Add(p.clock.Period)}
	if now, found := p.recovery(); found && now.Rung == recovering.RungRecreate { // ours: the recreation is over, and a worker has died already
		a.Recovering = &state
		return a
	}
	return p.placed(a, state)
}

// placed adds a mark, unless it is there or a higher level is at work.
func (p *planner) placed(a Annotate, state recovering.State) Annotate {
	if _, write := recovering.Place(p.Owner.Annotations, state, p.now); write {
		a.Recovering = &state
	}
	return a
}

// markState is the annotation as it is.
type markState int

const (
	markAbsent   markState = iota
	markSet                // ours, and its deadline is ahead
	markOutdated           // unreadable, or its deadline has passed
)

// markState: a deadline that has passed is one of an earlier round, or of a leader whose clock for this round began earlier. The mark of a
// recreation is let be until its workers have formed the group.
func (p *planner) markState() markState {
	if _, found := p.Owner.Annotations[recovering.Annotation]; !found {
		return markAbsent
	}
	state, readable := p.recovery()
	restarting := p.group != nil && p.group.Phase == coordination.Restarting
	switch {
	case !readable:
		return markOutdated
	case state.Rung == recovering.RungRecreate && (!p.isRecreated() || !state.Live(p.now)):
		return markOutdated
	case state.Rung > recovering.RungRecreate && restarting && state.Live(p.now):
		return markSet // somebody above replaces the whole workload: this restart is part of that
	case state.Rung > recovering.RungGroup:
		return markAbsent
	case !state.Live(p.now):
		return markOutdated
	}
	return markSet
}

// isRecreated: workers of the new epoch are still to join.
func (p *planner) isRecreated() bool {
	if p.group == nil {
		return p.Owner.Undecided
	}
	return p.group.Phase == coordination.Forming || p.group.Phase == coordination.Recreating
}
