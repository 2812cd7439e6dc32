package coordination

import "fmt"

// Evict takes a pod out of its slot, because the leader knows that it is gone, has failed or is about to be deleted. Its
// instance counts as dead (KindPod) and the pod is fenced, so that whatever it still reports comes too late; a worker
// that exited 0 because its pod was being deleted has not finished. A pod that does not hold the slot, a slot that is
// dead already and a closed group are left alone.
//
// Errors: ErrStaleLeader, ErrUnknownSlot.
func (g *Group) Evict(t Token, slot, pod string, now int64) error {
	if err := g.lead(t); err != nil {
		return err
	}
	if !g.has(slot) {
		return fmt.Errorf("%w: %q", ErrUnknownSlot, slot)
	}
	if !isName(pod) {
		return fmt.Errorf("evicting a pod: UID %.80q is no name", pod)
	}
	g.Token = t
	held := g.Slots[slot]
	if g.Phase == Closed || held == nil || held.Pod != pod || (held.Dead && !held.Finished) {
		return nil
	}
	g.Fenced[pod] = true
	if held.Finished {
		held.Finished, held.Dead, held.Round = false, false, g.Round // it was counted in whatever round it finished
		g.Done--
	}
	g.bury(held, replacedBy(slot, true), false, now)
	g.settle(now)
	return nil
}
