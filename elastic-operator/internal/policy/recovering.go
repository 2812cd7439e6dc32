package policy

import (
	"time"

	"github.com/holdfast-project/holdfast/elastic-operator/api/v1alpha1"
	"github.com/holdfast-project/holdfast/shared/recovering"
)

// replacedWithin is how long after the last fault other rungs of the ladder leave a job alone whose workers are being replaced. One for which
// there is no node after that is no recovery any more: whoever has another answer may give it.
const replacedWithin = 5 * time.Minute

// recover says that workers are being replaced, so that no other rung of the ladder answers the same fault.
func (d *decider) recover(t tally) {
	deadline := t.lastFault.Add(replacedWithin)
	if t.replacing == 0 && d.restartsInPlace() {
		return
	}
	if t.replacing == 0 || !d.Now.Before(deadline) {
		d.say(v1alpha1.JobRecovering, false, v1alpha1.ReasonRestarted, "Workers that failed have been replaced, or have had their time.")
		return
	}
	d.out.Recovering = &recovering.State{Rung: recovering.RungElastic, Reason: restarting(d.Name, t.replacing), Deadline: deadline}
	d.say(v1alpha1.JobRecovering, true, v1alpha1.ReasonRestarting, restarting(d.Name, t.replacing))
	d.requeueAt(deadline)
}
