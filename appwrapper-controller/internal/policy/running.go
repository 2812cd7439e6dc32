package policy

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-project/holdfast/appwrapper-controller/api/v1beta2"
	"github.com/holdfast-project/holdfast/appwrapper-controller/internal/health"
	"github.com/holdfast-project/holdfast/appwrapper-controller/internal/pods"
)

// running: the conditions of the seed document, the ones without FailureGracePeriod first. What has ended is not missing: its time to
// live may be over.
func running(f *Facts) *Decision {
	if f.Suspend {
		return suspend(f)
	}
	for _, c := range f.Components {
		if c.Report.State == health.Failed && !c.Succeeded {
			message := strings.TrimSuffix(c.Name+" has failed: "+c.Report.Message, ": ")
			if f.terminal() {
				return f.fail(v1beta2.ReasonFailedComponent, fmt.Sprintf("%s; exit codes %d do not allow a reset", message, f.Pods.ExitCodes()), nil)
			}
			return f.resetOrFail(v1beta2.ReasonFailedComponent, message, true)
		}
	}
	if f.succeeded() {
		return f.succeed()
	}
	for _, c := range f.Components {
		if c.missing() {
			return f.fail(v1beta2.ReasonMissingComponent, c.Name+" was deleted by somebody else", nil)
		}
	}
	if e := f.Evacuation; e != nil && e.Held == "" {
		return f.resetOrFail(v1beta2.ReasonAutopilotNoExecute, e.Message, false)
	}
	return f.judgePods()
}

// missing: it was there, and is not any more, or not for long.
func (c Component) missing() bool {
	return c.Created && !c.done() && (c.Presence == Absent || c.Presence == Terminating)
}

// succeeded: all that have pods are done. A kind that does not say so is done when all of its pods have succeeded.
func (f *Facts) succeeded() bool {
	byPods := int32(0)
	working := false
	for i, c := range f.Components {
		switch {
		case c.Pods == 0:
			continue
		case c.Finishes && !c.done():
			return false
		case !c.Finishes && !f.unlabelled() && !allSucceeded(f.Pods.ByComponent[i], c.Pods):
			return false
		case !c.Finishes:
			byPods += c.Pods
		}
		working = true
	}
	if byPods > 0 && f.unlabelled() && !allSucceeded(f.Pods.All, byPods) {
		return false
	}
	return working
}

// unlabelled: there are pods that do not say to which component they belong.
func (f *Facts) unlabelled() bool {
	_, found := f.Pods.ByComponent[pods.Anywhere]
	return found
}

func allSucceeded(c pods.Count, wanted int32) bool {
	return c.Succeeded >= wanted && c.Pending == 0 && c.Running == 0 && c.Failed == 0 && c.Terminating == 0
}

// succeed gives the quota back at once; the components stay for a while.
func (f *Facts) succeed() *Decision {
	d := f.decision()
	message := fmt.Sprintf("%v pods succeeded and no running, pending, or failed pods", f.Pods.All.Succeeded)
	d.Confirm = true
	d.Next, d.Clocks.Finished = v1beta2.Succeeded, f.Now
	d.Clocks.DeletionStart, d.Clocks.DeletionEnd = time.Time{}, time.Time{} // of a removal before
	d.Ends = &End{Reason: string(v1beta2.Succeeded), Message: "the work is done"}
	d.set(v1beta2.QuotaReserved, false, string(v1beta2.Succeeded), message)
	d.set(v1beta2.ResourcesDeployed, true, string(v1beta2.Succeeded), message)
	d.set(v1beta2.Unhealthy, false, v1beta2.ReasonFoundNoFailedPods, "")
	d.event(false, string(v1beta2.Succeeded), string(v1beta2.Succeeded),
		fmt.Sprintf("the work is done and the quota given back; all that was created is removed %s later", f.Parameters.SuccessTTL))
	return d
}

// terminal tells whether the exit codes of failed pods leave no hope.
func (f *Facts) terminal() bool {
	p := f.Parameters
	for _, code := range f.Pods.ExitCodes() {
		if slices.Contains(p.TerminalExitCodes, code) || (len(p.RetryableExitCodes) > 0 && !slices.Contains(p.RetryableExitCodes, code)) {
			return true
		}
	}
	return false
}
