package simulation

// lifted is S13: user code of a round runs only when that of the rounds before has ended in every pod that still holds its
// slot. A zombie, which nobody can stop, is none of these; its rendezvous differs.
func (t *truth) lifted(c *instance) {
	uid := c.pod.job.owner
	for _, p := range t.pods {
		other := p.living()
		if other == nil || other == c || p.driver() != Exec || p.job.owner != uid || !other.lifted || p.lost() || p.agent.fenced {
			continue
		}
		// Known gaps, all after the store has lost data: it gives an instance that it forgot, or heard of by a late message, the
		// next round though it runs one already; and it runs one step before it has heard of the next (TestKnownGaps).
		forgotten := t.losses > 0
		if other.rendezvous.less(c.rendezvous) && t.holds(p) && !forgotten {
			t.fail("S13", "%s starts in round %d.%d while %s still runs in round %d.%d", c.ID, c.rendezvous.epoch,
				c.rendezvous.round, other.ID, other.rendezvous.epoch, other.rendezvous.round)
		}
	}
	if c.assigned && c.rendezvous.less(c.given) {
		t.fail("S13", "%s of round %d.%d is let run as one of %d.%d", c.ID, c.given.epoch, c.given.round, c.rendezvous.epoch, c.rendezvous.round)
	}
}

// holds tells whether a pod holds its slot in the store.
func (t *truth) holds(p *pod) bool {
	g := t.store.first.view(p.job.owner)
	return g != nil && g.Slots[p.slot].Pod == p.uid
}
