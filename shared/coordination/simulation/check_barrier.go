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
		// Two known gaps: see TestKnownGaps for the steps; and after two losses an instance that the store never heard of joins
		// a round that restarts, and is given that one though it runs another.
		forgotten := t.losses > 1 || (t.losses > 0 && t.stepOf(p.slot) != t.stepOf(c.pod.slot))
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
	g := t.store.first.groups[p.job.owner]
	return g != nil && g.Slots[p.slot] != nil && g.Slots[p.slot].Pod == p.uid
}
