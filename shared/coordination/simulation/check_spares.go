package simulation

import (
	"fmt"
	"maps"
	"slices"

	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
)

// checkGiven checks S17 in the store: a slot is assigned to a pod only when nothing is running in the slot's previous pods, no pod has two
// slots, and no slot has two pods.
func (t *truth) checkGiven(uid string, did step, before, after *view) {
	if did.heir != (rounds.Slot{}) && after.givenTo(did.slot.Name) == did.heir.Pod && before.givenTo(did.slot.Name) != did.heir.Pod {
		t.given++
		if holder := before.holders[did.slot.Name]; holder != "" && holder != did.slot.Pod && holder != did.heir.Pod {
			t.fail("S17", "%s is assigned to %s, but %s holds it", did.slot.Name, did.heir.Pod, holder)
		}
		for _, p := range t.pods {
			if c := p.living(); c != nil && c.lifted && c.slot == did.slot.Name && p.uid != did.heir.Pod && t.runsIn(uid, p, after.Generation) && !t.tookItself(p, c) {
				t.fail("S17", "%s is assigned to %s, but %s is running in it", did.slot.Name, did.heir.Pod, c.id)
			}
		}
	}
	if t.shape.spares() == 0 {
		return
	}
	slots := map[string]string{}
	for _, given := range after.Given {
		if slots[given.Pod] != "" {
			t.fail("S17", "%s was assigned both %s and %s", given.Pod, slots[given.Pod], given.Name)
		}
		slots[given.Pod] = given.Name
		if holder := after.holders[given.Name]; holder != "" && holder != given.Pod {
			t.fail("S17", "%s was assigned to %s, but %s holds it", given.Name, given.Pod, holder)
		}
	}
	held := map[string]string{}
	for _, slot := range after.slots() {
		holder := after.holders[slot]
		if holder != "" && held[holder] != "" {
			t.fail("S17", "%s holds both %s and %s", holder, held[holder], slot)
		}
		held[holder] = slot
	}
}

// runsIn reports whether a pod of the given generation of a group may still be running according to the API server.
func (t *truth) runsIn(uid string, p *pod, generation int64) bool {
	return p.job.owner == uid && p.epoch == generation && !p.gone && !p.told
}

// checkAlone checks S17 and S14 when a worker starts: no other worker is running in its slot, except in a pod that was released from the slot, and
// its own pod was not released before the round was opened.
func (t *truth) checkAlone(c *instance) {
	if t.shape.spares() == 0 {
		return
	}
	uid := c.pod.job.owner
	for _, p := range t.pods {
		other := p.living()
		if p.duplicate || c.pod.duplicate || t.releasedIn(c) || t.tookItself(c.pod, c) || other != nil && t.tookItself(p, other) { // known gaps
			continue
		}
		if other != nil && other != c && other.lifted && other.slot == c.slot && t.runsIn(uid, p, c.rendezvous.generation) && !p.agent.isFenced() && !t.isFenced(p) {
			t.fail("S17", "%s starts in %s, where %s is running", c.id, c.slot, other.id)
		}
	}
	if before, fenced := t.fenced[c.pod.uid]; fenced && before.less(c.rendezvous) && t.isFenced(c.pod) {
		t.fail("S14", "%s starts in round %d.%d, but its pod was released in round %d.%d", c.id, c.rendezvous.generation, c.rendezvous.round, before.generation, before.round)
	}
}

// tookItself reports whether a pod created by the Job controller may have taken its own slot although the slot was assigned to another pod. This
// happens if the store does not know about the assignment because it was rolled back or partitioned.
func (t *truth) tookItself(p *pod, c *instance) bool {
	return t.losses > 0 && p.name == "" && p.slot == c.slot
}

// releasedIn reports whether an instance's pod was released in or after the round in which the instance starts. If it still receives messages from
// the store, or resumes from a pause, it starts in that round. It is fenced from the next round on.
func (t *truth) releasedIn(c *instance) bool {
	before, fenced := t.fenced[c.pod.uid]
	return fenced && !before.less(c.rendezvous)
}

func (t *truth) isFenced(p *pod) bool {
	v := t.store.first.view(p.job.owner)
	return v != nil && v.IsFenced(p.uid)
}

// workerOf returns the pod that works in a slot. With spares, that is the pod that holds the slot.
func (w *world) workerOf(g *view, slot string) *pod {
	if w.shape.spares() > 0 && g.holders[slot] != "" {
		return w.findPod(g.holders[slot])
	}
	return w.podOf(w.api.current.uid, slot)
}

// unsettledSpares describes what is missing for the spares to be settled, or returns "": each index of each Job must have a pod, and pods with
// an assigned slot must be annotated with it.
func (w *world) unsettledSpares(g *view) string {
	if w.shape.spares() == 0 {
		return ""
	}
	for _, j := range w.controller.current(*w.api.current) {
		if j.spares && !j.complete() && len(j.seats) != max(j.wantsSpares(), j.usedSpares()) {
			return fmt.Sprintf("%s has %d pods", j.name, len(j.seats))
		}
		for _, s := range j.seats {
			p := w.podOf(w.api.current.uid, s.slot)
			if u, found := g.UnitOf(s.slot); s.completed || found && g.Units[u].Left {
				continue
			}
			switch {
			case p == nil || p.deleting:
				return s.slot + ": it has no pod"
			case slices.Contains(slices.Collect(maps.Values(g.holders)), p.uid):
			case p.living() == nil || p.living().lifted:
				return p.uid + ": it is not waiting"
			case g.IsFenced(p.uid):
				return p.uid + ": it is fenced"
			case !p.agent.up || !p.agent.state.Settled():
				return p.uid + ": its agent is not settled"
			}
		}
	}
	for _, given := range g.Given {
		if p := w.findPod(given.Pod); p != nil && p.given != given.Name && g.hasEntered(given.Name) {
			return given.Pod + ": it is not annotated with its slot"
		}
	}
	return ""
}
