package leader

import "fmt"

// charge raises the inplace-restarts annotation to the number of restarts. Because the owner is written with compare-and-set,
// each restart counts once. No restart is counted after the owner has been suspended, has finished or has moved to another epoch,
// because the write then conflicts.
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
