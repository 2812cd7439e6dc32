package leader

import (
	"fmt"

	"github.com/holdfast-project/holdfast/shared/coordination"
)

// claim annotates the owner with the installation that leads it, before anything else happens. If two installations claim it at
// the same time, one of the two writes fails with a conflict.
func (p *planner) claim() {
	if s := p.Owner.Served; s != nil && s.Claim {
		p.do(Annotate{LedBy: &s.Installation})
	}
}

// follow opens the next epoch after a controller without epochs has recreated or suspended the group. Pods that end for that
// reason have not failed.
func (p *planner) follow() {
	o := &p.Owner
	if o.Served == nil || p.wanted == nil {
		return
	}
	s := o.Served
	if next, opened := o.Epoch.Follow(fmt.Sprintf("%s%d", o.PolicyPrefix, s.Restarts), o.Charged, s.Restarts, s.Counted); opened {
		p.do(Annotate{Epoch: &next, Charged: &next.Base})
		return
	}
	if p.wanted.Suspended && p.group != nil && p.group.Generation == int64(o.Epoch.Epoch) && p.group.Phase != coordination.Closed {
		if next, opened := o.Epoch.Next(fmt.Sprintf("suspend/%d", o.Version), o.Charged); opened {
			p.do(Annotate{Epoch: p.dated(next)})
		}
	}
}

// endSpent fails an owner whose controller does not count in-place restarts.
func (p *planner) endSpent() {
	o := &p.Owner
	if o.Served == nil || p.wanted == nil || !o.Budget.Exceeded(o.Charged) {
		return
	}
	p.do(FailOwner{Message: fmt.Sprintf("%d restarts, in place and by recreation, exceed maxRestarts of %d", o.Charged, o.Budget)})
}
