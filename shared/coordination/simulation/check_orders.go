package simulation

import "github.com/holdfast-project/holdfast/shared/coordination"

// ordered checks an order to stop an instance: S3, S4, S7, S10 and S12.
func (t *truth) ordered(a *agent, id string, c *instance) {
	t.orders++
	i := t.instances[id]
	if i == nil || i.pod != a.pod {
		t.fail("S3", "%s is ordered to stop but is not a worker of this pod", id)
		return
	}
	if i.runs != a.run {
		i.orders, i.runs = 0, a.run
	}
	if i.orders > 0 {
		t.fail("S4", "%s is ordered to stop a second time", id)
	}
	i.orders++
	if c != nil && c.running {
		c.ordered = true
	}
	desired, mine := t.desired[a.pod.job.owner], i.given
	switch {
	case !i.assigned && !i.asked:
		t.fail("S3", "%s is ordered to stop before it requested to join a round", id)
	case !i.assigned:
		// The agent does not know whether its join was accepted.
	case mine.generation != desired.generation:
		// The order belongs to a generation that the group has since left.
	case mine.round >= desired.round && !t.isOthers(i) && !t.nobodyKnows(i.pod):
		t.fail("S3", "%s of round %d is ordered to stop, but the desired round is %d", id, mine.round, desired.round)
	}
	t.checkNeedless(a, id)
}

// isOthers reports whether an instance's slot is assigned to another pod.
func (t *truth) isOthers(i *instance) bool {
	v := t.store.first.view(i.pod.job.owner)
	return v != nil && v.givenTo(i.slot) != "" && v.givenTo(i.slot) != i.pod.uid
}

func (t *truth) checkNeedless(a *agent, id string) {
	v := t.store.first.view(a.pod.job.owner)
	if v != nil && v.Phase == coordination.Completed {
		t.fail("S10", "%s is ordered to stop although every worker has finished", id)
	}
	if js := t.api.current; t.shape.Neutral && js != nil && !js.deleted {
		t.fail("S12", "%s is ordered to stop although no worker has failed", id)
	}
}
