package leader

// claim writes on the owner which installation leads it, before anything else happens. If two installations claim it at the same
// time, the write of one of them is a conflict.
func (p *planner) claim() {
	if s := p.Owner.Served; s != nil && s.Claim {
		p.do(Annotate{LedBy: &s.Installation})
	}
}
