package simulation

import (
	"fmt"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/memory"
)

// unsettled says what is missing for the world to be at rest, or nothing: a group in sync with all that really runs, or a
// JobSet that has ended and left nothing behind.
func (w *world) unsettled() string {
	js := w.api.current
	switch {
	case w.leader() == nil:
		return "nobody leads"
	case js == nil || js.deleted:
		return "the JobSet is being made again"
	case js.finished():
		return w.leftBehind(js)
	case js.suspended:
		return "the JobSet is suspended"
	case js.marked:
		return "the JobSet is marked as recovering"
	case !js.counted:
		return "inplace-restarts is not there yet"
	}
	g := w.group()
	switch {
	case g == nil:
		return "the store holds no group"
	case g.Phase == coordination.Completed && w.truth.fooled:
		return "" // a known gap, see TestKnownGaps
	case g.Phase != coordination.Running:
		return fmt.Sprintf("the group is in %s, %d of %d have joined", g.Level, g.Joined, g.Size)
	case int64(js.epoch.Epoch) != g.Epoch:
		return "the group is of another epoch than the JobSet"
	case int64(js.charged) < int64(js.epoch.Base)+g.Round:
		return fmt.Sprintf("%d restarts are charged, base %d and round %d", js.charged, js.epoch.Base, g.Round)
	}
	for _, slot := range w.slots {
		if missing := w.unsettledSlot(g, slot); missing != "" {
			return slot + ": " + missing
		}
	}
	return w.unsettledJobs(js)
}

func (w *world) unsettledJobs(js *jobSet) string {
	for _, j := range w.jobs {
		if j.deleting || j.owner != js.uid || j.previous(*js) {
			return j.name + " is being deleted"
		}
	}
	for _, p := range w.pods {
		if p.deleting && !p.over && !p.node.cut {
			return p.uid + " is being stopped"
		}
	}
	return ""
}

// leftBehind is L8: what has ended leaves no group in the store.
func (w *world) leftBehind(js *jobSet) string {
	if len(w.store.first.names()) > 1 {
		return fmt.Sprintf("the JobSet has %s, and the store holds %v", js.state, w.store.first.names())
	}
	for _, p := range w.pods {
		if !p.gone && !p.ended() {
			return "there still is " + p.uid
		}
	}
	return ""
}

func (w *world) unsettledSlot(g *memory.Group, slot string) string {
	held, joined := g.Slots[slot]
	p := w.podOf(w.api.current.uid, slot)
	switch {
	case !joined:
		return "nobody has joined"
	case held.Finished:
		return ""
	case w.completed(slot):
		return "" // its Job knows, though the report was lost; the leader finds out when a round needs the slot
	case p == nil || p.deleting || p.living() == nil:
		return "no worker runs"
	case w.truth.losses > 0 && held.ID != p.living().ID && !held.Dead && w.roundOf(g, slot) == g.Round:
		return w.unsettledAgent(g, p) // the store forgot a death and a join of the same round: the next report sets it right
	case held.ID != p.living().ID || held.Dead || w.roundOf(g, slot) != g.Round:
		return fmt.Sprintf("%s runs, the store has %+v", p.living().ID, held)
	}
	return w.unsettledAgent(g, p)
}

// unsettledAgent says what an agent has left to do.
func (w *world) unsettledAgent(g *memory.Group, p *pod) string {
	switch {
	case p.living().hangs:
		return "its worker hangs"
	case !p.living().lifted:
		return "its barrier is not lifted"
	case !p.agent.up || !p.agent.state.Settled():
		return "its agent is not settled"
	case p.volume.memory.Round != g.Round || p.volume.memory.Instance.ID != p.living().ID || !p.volume.memory.Running:
		return fmt.Sprintf("its file says %+v", p.volume.memory)
	}
	return ""
}

// completed tells whether the Job of a slot counts it as completed.
func (w *world) completed(slot string) bool {
	for _, j := range w.controller.current(*w.api.current) {
		for _, s := range j.seats {
			if s.slot == slot && s.completed {
				return true
			}
		}
	}
	return false
}

// roundOf is the round of a slot's instance: the one it was given, or the one its step entered at.
func (w *world) roundOf(g *memory.Group, slot string) int64 {
	entered, _ := g.Entered(w.stepOf(slot))
	return max(g.Slots[slot].Round, entered)
}
