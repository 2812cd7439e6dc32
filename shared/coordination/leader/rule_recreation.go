package leader

import (
	"fmt"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/recovering"
	"github.com/holdfast-project/holdfast/shared/restart"
	"github.com/holdfast-project/holdfast/shared/series"
)

// recreate recreates a group that cannot restart in place.
func (p *planner) recreate() {
	if p.wanted == nil || p.group == nil || p.group.Phase != coordination.Recreating || p.Owner.Budget.Exceeded(p.Owner.Charged) {
		return
	}
	text, known := p.recreationText()
	if !known {
		return
	}
	if usedUp := p.failOver(p.group.Record.Cause.Kind, text); usedUp {
		p.reportUsedUp(text, "; no worker was stopped")
	}
}

// failOver charges a recreation to the budget and opens the next epoch in one compare-and-set. After that, Jobs of earlier epochs
// are stale, and any leader may delete them. If no budget is left, only the charge is written, which fails the owner. failOver
// returns true if it has written such a charge.
func (p *planner) failOver(kind, text string) (usedUp bool) {
	o, g := &p.Owner, p.group
	spent := max(o.Charged, p.spentRestarts())
	charged := restart.Charged(spent, 1)
	switch {
	case o.Budget.Exceeded(o.Charged):
		return false
	case !o.Budget.Allows(spent):
		p.do(p.marked(Annotate{Charged: &charged}, false))
		return true
	}
	next, opened := o.Epoch.NextRecreate(fmt.Sprintf("%s/%d/%d", kind, g.Generation, g.Round), charged)
	if !opened {
		return false // already written
	}
	mark := recovering.State{Level: recovering.LevelRecreate, Reason: text, Deadline: p.now.Add(recreationTime)}
	p.do(p.placed(Annotate{Epoch: p.dated(next), Charged: &charged}, mark))
	p.count(series.Escalations, 1, ScopeGroup)
	what := "Jobs"
	if p.alone() {
		what = "pods"
	}
	p.event(true, EventFailOver, fmt.Sprintf("%s; deleting all %s for a full recreation (generation %d, restart %d of %d)", text, what, next.Epoch, charged, o.Budget))
	return false
}

// recreationText describes why the group cannot restart in place, and names workers that did not join in time. It returns false
// if their names must be read first.
func (p *planner) recreationText() (string, bool) {
	g := p.group
	if g.Record.Cause.Kind != coordination.KindTimeout {
		return CauseText(g.Record.Cause) + ", which an in-place restart cannot fix", true
	}
	text := fmt.Sprintf("in-place restart %d timed out after %s: %d of %d workers joined",
		g.Round, p.Owner.Timeout, g.Joined, g.Size)
	missing, known := p.missing(p.awaited()...)
	if len(missing) > 0 {
		text += "; missing: " + some(missing, maxNamed)
	}
	return text, known
}
