package leader

import "fmt"

// endSpent fails an owner whose controller does not count in-place restarts.
func (p *planner) endSpent() {
	o := &p.Owner
	if o.Served == nil || p.wanted == nil || !o.Budget.Exceeded(o.Charged) {
		return
	}
	p.do(FailOwner{Message: fmt.Sprintf("%d restarts, in place and by recreation, exceed maxRestarts of %d", o.Charged, o.Budget)})
}
