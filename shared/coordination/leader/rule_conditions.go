package leader

import (
	"fmt"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/recovering"
)

// lateAfter is how long a restart may take before the condition names the missing workers. By then, processes and most containers
// have restarted.
const lateAfter = 2 * time.Second

// setConditions sets the conditions according to the phase. They change when the phase or the restart count changes, and once more
// if a restart is slow, but not each time a worker joins.
func (p *planner) setConditions() {
	if p.nameLate(); len(p.plan.Need.Missing) > 0 {
		return
	}
	if p.group == nil && p.refused == "" {
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

// nameLate determines the missing workers once per slow restart. Later joins do not change the text, so the cost is one store
// read and one write, regardless of the number of workers.
func (p *planner) nameLate() {
	if p.clock == nil {
		return
	}
	if wait := lateAfter - p.now.Sub(p.clock.Start); wait > 0 {
		p.resyncIn(wait)
		return
	}
	r := p.memory.restart
	if r.late == "" {
		missing, known := p.missing(p.awaited()...)
		if !known || len(missing) == 0 {
			return
		}
		r.late = fmt.Sprintf("; not back after %s: %s", lateAfter, some(missing, maxNamed))
	}
	p.late = r.late
}

func sameCondition(a, b *Condition) bool {
	return (a == nil) == (b == nil) && (a == nil || *a == *b)
}

func (p *planner) inSync() Condition {
	if p.group == nil {
		return Condition{Reason: ReasonRefused, Message: p.refused, Version: p.Owner.Version}
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

// recoveringCondition returns the condition that corresponds to the recovery annotation, or nil if this program is not restarting
// or recreating the group.
func (p *planner) recoveringCondition(inSync Condition) *Condition {
	if p.clock != nil {
		return &Condition{True: true, Reason: inSync.Reason, Message: inSync.Message, Version: p.Owner.Version}
	}
	if state, found := recovering.Of(p.Owner.Annotations); found && state.Level == recovering.LevelRecreate {
		return &Condition{True: true, Reason: ReasonRecreating, Message: state.Reason, Version: p.Owner.Version}
	}
	return nil
}
