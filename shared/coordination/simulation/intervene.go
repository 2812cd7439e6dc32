package simulation

import "github.com/holdfast-project/holdfast/shared/coordination"

// intervene does what an operator has to do by hand today: while no round is being restarted, nobody replaces a pod whose
// agent is fenced though no other pod is there for its slot. A younger twin that went before its elder leads there, and pods that
// do not know their epoch and joined the one before because nobody led; TestKnownGaps tells both.
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
