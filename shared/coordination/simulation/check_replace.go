package simulation

// replacing checks S15 when a leader creates a pod: nothing may be running in the slot's other pods, and no other leader may have
// created one. The check ignores pods that the Job controller creates at the same time, because the leader cannot know about them.
func (t *truth) replacing(who string, v vacancy) {
	for _, p := range t.pods {
		if p.slot != v.slot || p.job.owner != v.job.owner || p.gone || p.told || p.duplicate {
			continue
		}
		switch {
		case p.name != "":
			t.fail("S15", "%s creates a second pod for %s in addition to %s, which a leader created", who, v.slot, p.uid)
		case p.created <= v.seenAt:
			t.fail("S15", "%s creates a second pod for %s in addition to %s", who, v.slot, p.uid)
		}
	}
}
