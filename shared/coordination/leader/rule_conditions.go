package leader

import (
	"fmt"
	"strings"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/group"
	"github.com/holdfast-project/holdfast/shared/recovering"
)

// Reasons of the condition InPlaceInSync.
const (
	ReasonForming     = "WaitingForWorkers"
	ReasonRunning     = "InSync"
	ReasonRestarting  = "RestartingInPlace"
	ReasonUsedUp      = "RestartsUsedUp"
	ReasonRecreating  = "FailingOver"
	ReasonSuspended   = "Suspended"
	ReasonCompleted   = "Completed"
	ReasonRefused     = "NotPossible"      // the owner asks for in-place restarts and cannot have them
	ReasonUnreachable = "StoreUnreachable" // the store was unreachable since the owner was created, or since its workers began to join
)

var reasons = map[coordination.Phase]string{
	coordination.Forming: ReasonForming, coordination.Running: ReasonRunning, coordination.Restarting: ReasonRestarting,
	coordination.Terminal: ReasonUsedUp, coordination.Recreating: ReasonRecreating, coordination.Closed: ReasonSuspended,
	coordination.Completed: ReasonCompleted,
}

// lateAfter is how long a restart takes before somebody wants to know whom it waits for. Processes are back before that, and most
// containers.
const lateAfter = 2 * time.Second

// maxNamed keeps a message readable.
const maxNamed = 5

// setConditions says what the group is doing. What it says changes with the phase and the count, and once more if a restart takes long, not
// with each worker that joins.
func (p *planner) setConditions() {
	if p.nameLate(); len(p.plan.Need.Missing) > 0 {
		return
	}
	if p.group == nil && p.Owner.Refused == "" {
		if p.Owner.InSync != nil && p.wanted == nil {
			p.do(SetConditions{})
		}
		return
	}
	inSync := p.inSync()
	next := SetConditions{InSync: &inSync, Recovering: p.recoveringCondition(inSync)}
	if !sameCondition(p.Owner.InSync, next.InSync) || !sameCondition(p.Owner.Recovering, next.Recovering) {
		p.do(next)
	}
}

// nameLate finds out once for each restart that takes long who is not back. Who joins later does not change what it says:
// it costs one look into the store and one write, however many workers there are.
func (p *planner) nameLate() {
	if !p.restarting() {
		return
	}
	if wait := lateAfter - p.now.Sub(p.clock.Start); wait > 0 {
		p.lookIn(wait)
		return
	}
	r := p.memory.restart
	if !r.asked {
		missing, known := p.missing(p.awaited()...)
		if !known || len(missing) == 0 {
			return
		}
		r.late, r.asked = lateText(missing), true
	}
	p.late = r.late
}

// lateText is the end of the condition's message.
func lateText(missing []string) string {
	n := len(missing)
	more := ""
	if n > maxNamed {
		more = fmt.Sprintf(" and %d more", n-maxNamed)
	}
	return fmt.Sprintf("; not back after %s: %s%s", lateAfter, strings.Join(missing[:min(n, maxNamed)], ", "), more)
}

func sameCondition(a, b *Condition) bool {
	return (a == nil) == (b == nil) && (a == nil || *a == *b)
}

func (p *planner) inSync() Condition {
	if p.group == nil {
		return Condition{Reason: ReasonRefused, Message: p.Owner.Refused, Version: p.Owner.Version}
	}
	c := Condition{
		True: p.group.Phase == coordination.Running, Reason: reasons[p.group.Phase], Message: groupText(p.group) + p.late, Version: p.Owner.Version,
	}
	if p.forming != "" && p.group.Phase == coordination.Forming {
		c.Message = p.forming
	} else if p.forming != "" {
		c.Message += "; " + p.forming
	}
	return c
}

// recoveringCondition is the condition beside the annotation, on either of our levels; nil while there is none.
func (p *planner) recoveringCondition(inSync Condition) *Condition {
	if p.group != nil && p.group.Phase == coordination.Restarting {
		return &Condition{True: true, Reason: inSync.Reason, Message: inSync.Message, Version: p.Owner.Version}
	}
	if state, found := recovering.Of(p.Owner.Annotations); found && state.Rung == recovering.RungRecreate {
		return &Condition{True: true, Reason: ReasonRecreating, Message: state.Reason, Version: p.Owner.Version}
	}
	return nil
}

// groupText says what the group is doing.
func groupText(g *group.Summary) string {
	where := fmt.Sprintf("total restart count %d of epoch %d", g.Round, g.Generation)
	switch g.Phase {
	case coordination.Running:
		return fmt.Sprintf("all %d workers have %s%s%s", g.Size, where, delayText(g), formingText(g))
	case coordination.Restarting:
		if g.Record.Cause.Kind == coordination.KindRecovery {
			return fmt.Sprintf("%s; %d workers join again with %s%s", CauseText(g.Record.Cause), g.Size, where, formingText(g))
		}
		return fmt.Sprintf("%s; restarting %d workers to %s%s", CauseText(g.Record.Cause), g.Size, where, formingText(g))
	case coordination.Terminal, coordination.Recreating:
		return fmt.Sprintf("%s at %s", CauseText(g.Record.Cause), where)
	case coordination.Completed:
		return fmt.Sprintf("all workers that are needed have finished with %s", where)
	}
	return fmt.Sprintf("%d workers, %s", g.Size, where)
}

// delayText says that workers wait before they start, which happens once in a round.
func delayText(g *group.Summary) string {
	delay := g.Level.Pause
	if delay == 0 {
		return ""
	}
	return fmt.Sprintf("; they waited %s before they started, because the restarts before ended within a minute", delay)
}

// formingText names what has not started yet beside what has: it is not waited for, and no restart stops it.
func formingText(g *group.Summary) string {
	var names []string
	for _, stage := range g.Stages {
		if !g.HasEntered(stage) && !g.HasLeft(stage) {
			names = append(names, stage.Prefix)
		}
	}
	switch n := len(names); {
	case n == 0:
		return ""
	case n > maxNamed:
		return fmt.Sprintf("; %s and %d more have still to start", strings.Join(names[:maxNamed], ", "), n-maxNamed)
	}
	return fmt.Sprintf("; %s still to start", strings.Join(names, ", "))
}
