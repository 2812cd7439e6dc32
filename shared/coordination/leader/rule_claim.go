package leader

// claim writes on the owner which installation leads it, before anything else is done about it. Of two installations that claim it at the
// same time one succeeds: the other's write is a conflict.
func (p *planner) claim() {
	if s := p.Owner.Served; s != nil && s.Claim {
		p.do(Annotate{LedBy: &s.Installation})
	}
}
