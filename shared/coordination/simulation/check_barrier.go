package simulation

import "slices"

// lifted checks S13: the user code of a round runs only after the user code of earlier rounds has ended in every pod that still
// holds its slot. A zombie, which nothing can stop, is ignored, because it uses a different rendezvous.
func (t *truth) lifted(c *instance) {
	uid := c.pod.job.owner
	for _, p := range t.pods {
		other := p.living()
		if other == nil || other == c || p.driver() != Exec || p.job.owner != uid || !other.lifted || p.lost() || p.agent.isFenced() {
			continue
		}
		if other.rendezvous.less(c.rendezvous) && other.rendezvous.generation == c.rendezvous.generation && t.counts(p) {
			t.fail("S13", "%s starts in round %d.%d while %s still runs in round %d.%d", c.id, c.rendezvous.generation,
				c.rendezvous.round, other.id, other.rendezvous.generation, other.rendezvous.round)
		}
	}
	t.checkBeside(c)
	t.checkAlone(c)
	if c.assigned && c.rendezvous.less(c.given) {
		t.fail("S13", "%s of round %d.%d is started in round %d.%d", c.id, c.given.generation, c.given.round, c.rendezvous.generation, c.rendezvous.round)
	}
}

// counts reports whether a pod holds one of the group's slots in the store, and the store knows that the slot's unit has run. If
// the store was reset to a state before the first start of a later step, it does not know that until one of the step's agents
// reconnects. This is a known gap.
func (t *truth) counts(p *pod) bool {
	v := t.store.first.view(p.job.owner)
	slot := p.workedSlot().Name
	return v != nil && slices.Contains(v.slots(), slot) && v.holders[slot] == p.uid && (t.losses == 0 || v.hasEntered(slot))
}

// checkBeside checks S6 at a barrier: no peer may hang because an earlier instance of the slot ran in the same round and died.
func (t *truth) checkBeside(c *instance) {
	for _, before := range t.instances {
		if before == c || before.slot != c.slot || before.running || !before.lifted || before.rendezvous != c.rendezvous || before.pod.job.owner != c.pod.job.owner {
			continue
		}
		for _, p := range t.pods {
			peer := p.living()
			if peer == nil || peer == c || p.driver() != Exec || p.job.owner != c.pod.job.owner || p.lost() || p.agent.isFenced() || !peer.lifted {
				continue
			}
			if peer.rendezvous == c.rendezvous && peer.started < before.exited && t.counts(p) && !t.nobodyKnows(c.pod) {
				t.fail("S6", "%s and %s ran in round %d of %s, and %s was running at the same time as both", before.id, c.id, c.rendezvous.round, c.slot, peer.id)
			}
		}
	}
}

// nobodyKnows reports whether the store may have lost the round's last join and the pod has lost its file. In that case, there is
// no record that an instance of the pod has run in the round. This is a known gap; see TestKnownGaps.
func (t *truth) nobodyKnows(p *pod) bool { return p.forgot && t.losses > 0 }
