package simulation

import (
	"fmt"
	"strings"

	"github.com/holdfast-project/holdfast/shared/coordination"
)

// unsettled returns what is missing for the world to be settled, or "" if it is settled: the group is in sync and matches
// everything that is really running, or the JobSet has ended and left nothing behind.
func (w *world) unsettled() string {
	js := w.api.current
	switch {
	case w.leader() == nil:
		return "there is no leader"
	case js == nil || js.deleted:
		return "the JobSet is being recreated"
	case w.culprits.hopeless():
		return w.goesOn(js)
	case js.finished():
		return w.leftBehind(js)
	case js.suspended:
		return "the JobSet is suspended"
	case w.truth.uncounted && w.group() != nil && w.group().Phase == coordination.Completed:
		return "" // see TestKnownGaps
	case js.mark != "":
		return "the JobSet is marked as recovering"
	case !js.formed:
		return "the condition reports that the group has not formed yet"
	case !js.counted:
		return "inplace-restarts is not set yet"
	}
	g := w.group()
	switch {
	case g == nil:
		return "the store has no group"
	case g.Phase != coordination.Running:
		return fmt.Sprintf("the group is in %s", g.text())
	case int64(js.epoch.Epoch) != g.Generation:
		return "the group and the JobSet are in different epochs"
	case int64(js.charged) < int64(js.epoch.Base)+g.Round:
		return fmt.Sprintf("only %d restarts are charged, with base %d and round %d", js.charged, js.epoch.Base, g.Round)
	}
	for _, slot := range w.slots {
		if missing := w.unsettledSlot(g, slot); missing != "" {
			return slot + ": " + missing
		}
	}
	if missing := w.unsettledSpares(g); missing != "" {
		return missing
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
		if p.node.silent && !p.gone {
			return p.uid + " is on a silent node"
		}
	}
	return ""
}

// leftBehind checks L8: a JobSet that has ended leaves no group in the store.
func (w *world) leftBehind(js *jobSet) string {
	if len(w.store.first.names()) > 1 {
		return fmt.Sprintf("the JobSet has %s, but the store still holds %v", js.state, w.store.first.names())
	}
	for _, p := range w.pods {
		if !p.gone && !p.ended() {
			return "still present: " + p.uid
		}
	}
	return ""
}

func (w *world) unsettledSlot(g *view, slot string) string {
	p := w.workerOf(g, slot)
	m, joined := g.joined[slot]
	if u, found := g.UnitOf(slot); found && g.Units[u].Left {
		return ""
	}
	switch {
	case !g.hasEntered(slot):
		return "its step has not entered"
	case g.finished[slot] != "", w.completed(slot):
		return "" // the report may have been lost, but the Job knows; the leader notices when a round needs the slot
	case p == nil || p.deleting || p.living() == nil:
		return "no worker is running"
	case w.truth.losses > 0 && joined && strings.HasPrefix(m.id, p.uid+"/"): // its next join will replace an instance that the agent has forgotten
	case !joined || m.id != p.living().id:
		return fmt.Sprintf("%s is running, but the store has %+v", p.living().id, m)
	}
	return w.unsettledAgent(g, p)
}

// unsettledAgent returns what an agent still has to do, or "".
func (w *world) unsettledAgent(g *view, p *pod) string {
	switch {
	case p.living().hangs:
		return "its worker hangs"
	case !p.living().lifted:
		return "its barrier is not lifted"
	case !p.agent.up || !p.agent.state.Settled():
		return "its agent is not settled"
	case p.volume.memory.Highest != g.Round || p.volume.memory.Instance.ID != p.living().id || p.volume.memory.Instance.Round != g.Round:
		return fmt.Sprintf("its file contains %+v", p.volume.memory)
	}
	return ""
}

// completed reports whether a slot's Job counts the slot as completed.
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
