package simulation

// replacing checks S15 where a leader's pod comes into being: nothing of the slot's other pods may run, and no other leader has
// made one. What the Job controller makes in the same moment cannot be known.
func (t *truth) replacing(who string, v vacancy) {
	for _, p := range t.pods {
		if p.slot != v.slot || p.job.owner != v.job.owner || p.gone || p.told || p.duplicate {
			continue
		}
		switch {
		case p.name != "":
			t.fail("S15", "%s makes a second pod of %s, beside %s that a leader made", who, v.slot, p.uid)
		case p.created <= v.seenAt:
			t.fail("S15", "%s makes a second pod of %s, beside %s", who, v.slot, p.uid)
		}
	}
}
