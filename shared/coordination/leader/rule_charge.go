package leader

import "fmt"

// charge raises the annotation inplace-restarts to the number of restarts. Because of the compare-and-set on the owner, a restart
// counts once, and never after the owner was suspended, finished or moved to another epoch, which would be a conflict.
func (p *planner) charge() {
	o := &p.Owner
	if p.wanted == nil || p.group == nil {
		return
	}
	charged := max(o.Charged, p.spentRestarts())
	if charged == o.Charged && o.Counted {
		return
	}
	p.do(p.marked(Annotate{Charged: &charged}, p.marks()))
	cause := CauseText(p.group.Record.Cause)
	switch {
	case charged == o.Charged:
	case o.Budget.Exceeded(charged):
		p.reportUsedUp(cause, "; no worker was stopped")
	default:
		p.event(true, EventRestarting, fmt.Sprintf("%s; restarting all %d workers in place (restart %d of %d)", cause, p.group.Size, charged, o.Budget))
	}
}
