package leader

import (
	"fmt"

	"github.com/holdfast-project/holdfast/shared/coordination"
)

// follow opens the next epoch after a controller without epochs has emptied the group, by a recreation or by suspending it: pods
// that end because of that have not failed.
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
