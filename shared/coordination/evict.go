package coordination

import "fmt"

// Evict takes a pod out of its slot, because the leader knows that it is gone, has failed or is about to be deleted. Its
// instance counts as dead (KindPod) and the pod is fenced, so that whatever it still reports comes too late; a worker
// that exited 0 because its pod was being deleted has not finished. A pod that does not hold the slot, a slot that is
// dead already, a stage that has left and a closed or completed group are left alone.
//
// Errors: ErrStaleLeader, ErrUnknownSlot.
func (g *Group) Evict(t Token, slot, pod string, now int64) error {
	if err := g.lead(t); err != nil {
		return err
	}
	if g.stage(slot) < 0 {
		return fmt.Errorf("%w: %q", ErrUnknownSlot, slot)
	}
	if !isName(pod) {
		return fmt.Errorf("evicting a pod: UID %.80q is no name", pod)
	}
	g.Token = t
	stage, held := g.stage(slot), g.Slots[slot]
	if g.Phase == Closed || g.Phase == Completed || g.Counts[stage].Left || held == nil || held.Pod != pod {
		return nil
	}
	if held.Dead && !g.counted(stage, held) {
		return nil
	}
	g.Fenced[pod] = true
	if held.Finished {
		g.uncount(stage, held)
		held.Finished, held.Dead, held.Round = false, false, g.Round // it was counted in whatever round it finished
		g.count(stage, held)
	}
	g.bury(stage, held, replacedBy(slot, held, true), false, now)
	g.settle(now)
	return nil
}
