package policy

import (
	"fmt"
	"time"

	"github.com/holdfast-project/holdfast/appwrapper-controller/api/v1beta2"
	"github.com/holdfast-project/holdfast/shared/restart"
)

// Resets are all ends of an attempt that a reset may follow, without their messages.
var Resets = []End{
	{Reason: v1beta2.ReasonCreateFailed},
	{Reason: v1beta2.ReasonFailedComponent},
	{Reason: v1beta2.ReasonFoundFailedPods},
	{Reason: v1beta2.ReasonInsufficientPodsReady},
	{Reason: v1beta2.ReasonAutopilotNoExecute, Evacuation: true},
}

// resetOrFail resets the workload if its budget allows. An attempt that was ready for RetryDecay starts the count of retries again.
func (f *Facts) resetOrFail(reason, message string, counted bool) *Decision {
	if decay := f.Parameters.RetryDecay; decay > 0 && f.ReadyFor >= decay {
		decayed := *f
		decayed.Retries = 0
		f = &decayed
	}
	switch {
	case !f.Parameters.RetryLimit.Allows(f.Retries):
		return f.fail(reason, fmt.Sprintf("%s; retryLimit %d is used up", message, f.Parameters.RetryLimit), nil)
	case !counted && f.EvacuationLimit != nil && !f.EvacuationLimit.Allows(f.Evacuations):
		return f.fail(reason, fmt.Sprintf("%s; evacuationLimit %d is used up", message, *f.EvacuationLimit), f.nodes())
	}
	d := f.end(reason, message)
	d.Next = v1beta2.Resetting
	if counted {
		d.Retries = restart.Charged(f.Retries, 1)
	} else {
		d.Evacuations = restart.Charged(f.Evacuations, 1)
		d.Ends.Nodes, d.Ends.Evacuation = f.nodes(), true
	}
	d.event(true, reason, string(v1beta2.Resetting), fmt.Sprintf("%s: all is removed, and created again %s later; reset %d of %d%s",
		message, f.Parameters.RetryPausePeriod, d.Retries, f.Parameters.RetryLimit, f.uncounted(counted)))
	return d
}

func (f *Facts) uncounted(counted bool) string {
	if counted {
		return ""
	}
	return fmt.Sprintf(", evacuation %d, which is not counted", f.Evacuations+1)
}

func (f *Facts) nodes() []string {
	if f.Evacuation == nil {
		return nil
	}
	return f.Evacuation.Nodes
}

// fail for good.
func (f *Facts) fail(reason, message string, nodes []string) *Decision {
	d := f.end(reason, message)
	d.Next, d.Ends.Nodes = v1beta2.Failed, nodes
	d.Clocks.Finished = f.Now
	next := "all is removed, then the quota is given back"
	if pause := f.Parameters.DeletionOnFailureGracePeriod; pause > 0 {
		next = fmt.Sprintf("all is kept, and the quota held, for %s; then %s", pause, next)
	}
	d.event(true, reason, string(v1beta2.Failed), fmt.Sprintf("failed: %s; %s", message, next))
	return d
}

// end the attempt because the workload is unhealthy.
func (f *Facts) end(reason, message string) *Decision {
	d := f.decision()
	d.Confirm = true
	d.Ends = &End{Reason: reason, Message: message}
	d.Clocks.DeletionStart, d.Clocks.DeletionEnd = time.Time{}, time.Time{} // of a removal before
	d.set(v1beta2.Unhealthy, true, reason, message)
	d.set(v1beta2.PodsReady, false, string(v1beta2.Resetting), message)
	if d.Clocks.UnhealthySince.IsZero() {
		d.Clocks.UnhealthySince = f.Now
	}
	return d
}
