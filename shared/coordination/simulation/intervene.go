package simulation

import "github.com/holdfast-project/holdfast/shared/coordination"

// intervene does what an operator has to do by hand today: while no round is being restarted, nobody replaces a pod whose
// agent is fenced though no other pod is there for its slot. Two kinds of histories lead there, and TestKnownGaps tells
// them: pods of the next epoch that joined the one before because nobody led, and a younger twin that went before its elder.
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
