package simulation

import "github.com/holdfast-project/holdfast/shared/coordination"

// intervene does what an operator has to do by hand: while a store that lost its data asks around, nobody replaces a pod whose agent
// was told before that it is fenced, and says nothing more, though no other pod is there for its slot. The fence was lost, too.
func (w *world) intervene() {
	g := w.group()
	if g == nil || (g.Phase == coordination.Restarting) {
		return
	}
	for _, slot := range w.slots {
		if p := w.podOf(w.api.current.uid, slot); p != nil && !p.deleting && !p.ended() && p.agent.fenced {
			w.note("operator", "deletes %s, which is fenced and alone", p.uid)
			w.interventions++
			w.deletePod(p)
		}
	}
}
