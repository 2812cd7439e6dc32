package policy

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/holdfast-project/holdfast/appwrapper-controller/api/v1beta2"
	"github.com/holdfast-project/holdfast/appwrapper-controller/internal/health"
	"github.com/holdfast-project/holdfast/appwrapper-controller/internal/pods"
	"github.com/holdfast-project/holdfast/shared/grace"
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
	return f.decideByPods()
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
	_, found := f.Pods.ByComponent[pods.UnknownComponent]
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

// judgePods looks at the three conditions that are about pods, which the controllers of the components may still make good: they
// have FailureGracePeriod for that. Its messages have no counts, since each pod that becomes ready would cost a write of the status.
func (f *Facts) decideByPods() *Decision {
	d := f.decision()
	t := f.tally()
	f.setReady(d, t)
	reason, message := f.findPodProblem(d, t)
	switch {
	case reason == "":
		f.setHealthy(d)
		return d
	case f.Now.Before(f.recoveringUntil(d)):
		f.setRecovering(d, message)
		return d
	case d.Clocks.UnhealthySince.IsZero():
		d.Clocks.UnhealthySince = f.Now
	}
	deadline := grace.Deadline{Start: d.Clocks.UnhealthySince, Period: f.Parameters.FailureGracePeriod}
	switch {
	case deadline.Passed(f.Now):
		message = fmt.Sprintf("%s (%d failed, %d of %d pods are ready)", message, len(f.failedPods()), t.ready, t.wanted)
		if f.terminal() && reason == v1beta2.ReasonFoundFailedPods {
			return f.fail(reason, fmt.Sprintf("%s; exit codes %d do not allow a reset", message, f.Pods.ExitCodes()), nil)
		}
		return f.resetOrFail(reason, message, true)
	default:
		d.waitFor(max(time.Millisecond, deadline.Remaining(f.Now)))
	}
	d.set(v1beta2.Unhealthy, true, reason, message)
	if f.Clocks.UnhealthySince.IsZero() {
		d.event(true, reason, string(v1beta2.Unhealthy), fmt.Sprintf("%s; if that is not made good within %s, the workload is reset", message, f.Parameters.FailureGracePeriod))
	}
	return d
}

// wrongPods returns what is wrong, if anything is, and otherwise arranges to look again when it could be.
func (f *Facts) findPodProblem(d *Decision, t tally) (reason, message string) {
	if list := f.failedPods(); len(list) > 0 && !f.restarting() {
		return v1beta2.ReasonFoundFailedPods, "Found failed pods" + first(list)
	}
	start := f.notReadySince(d)
	switch {
	case t.ready < t.wanted:
	case t.active < t.wantedActive: // between two waves
		if f.Pods.Progress.After(start) {
			start = f.Pods.Progress
		}
	default:
		return "", ""
	}
	if admission := start.Add(f.Parameters.AdmissionGracePeriod); t.exist < t.wanted {
		if !f.Now.Before(admission) {
			return v1beta2.ReasonInsufficientPodsReady, fmt.Sprintf("not all pods exist after %s", f.Parameters.AdmissionGracePeriod)
		}
		d.wait(admission, f.Now)
	}
	warmup := start.Add(f.Parameters.WarmupGracePeriod)
	if !f.Now.Before(warmup) {
		return v1beta2.ReasonInsufficientPodsReady, fmt.Sprintf("not all pods run after %s", f.Parameters.WarmupGracePeriod)
	}
	d.wait(warmup, f.Now)
	return "", ""
}

// notReadySince is when the pods were asked for, or ceased to be ready.
func (f *Facts) notReadySince(d *Decision) time.Time {
	if d.Clocks.NotReadySince.After(d.Clocks.AttemptStart) {
		return d.Clocks.NotReadySince
	}
	return d.Clocks.AttemptStart
}

// recoveringUntil is how long a component's own recovery is waited for: no longer than GracePeriodMaximum, whatever its annotation says.
func (f *Facts) recoveringUntil(d *Decision) time.Time {
	if limit := f.notReadySince(d).Add(f.Parameters.GracePeriodMaximum); f.Recovering.After(limit) {
		return limit
	}
	return f.Recovering
}

// failedPods are those of components that need them: of one that is done, or goes on without them, nobody waits for any.
func (f *Facts) failedPods() []*corev1.Pod {
	return slices.DeleteFunc(slices.Clone(f.Pods.Failed), func(pod *corev1.Pod) bool {
		i := pods.Component(pod)
		return i != pods.UnknownComponent && i < len(f.Components) && (f.Components[i].done() || f.Components[i].Report.EnoughPods)
	})
}

// restarting: a component is replacing its own pods. How long that may take is bounded by WarmupGracePeriod.
func (f *Facts) restarting() bool {
	return slices.ContainsFunc(f.Components, func(c Component) bool { return c.Report.Restarting && !c.done() })
}

func first(list []*corev1.Pod) string {
	on := ""
	if node := list[0].Spec.NodeName; node != "" {
		on = " on " + node
	}
	return ": " + list[0].Name + on
}

// tally of the pods that count for their components.
type tally struct {
	// exist, ready and wanted count those that have succeeded too.
	exist, ready, wanted int32
	// active are those that run, of the wantedActive that their components say are still to run.
	active, wantedActive int32
}

// tally counts pods. Those of one component do not stand in for those of another where it is known whose they are. Pods that succeeded count
// also when they have been deleted, which a cluster does when it has many.
func (f *Facts) tally() tally {
	var t tally
	var succeeded int32
	for i, c := range f.Components {
		want, have := c.wanted(), f.Pods.ByComponent[i]
		have.Succeeded = max(have.Succeeded, c.Report.Succeeded)
		succeeded += c.Report.Succeeded
		t.wanted += want
		t.exist += min(want, have.Exist())
		t.ready += min(want, have.Ready())
		if c.Report.Active != nil && !c.done() {
			active := min(c.Pods, *c.Report.Active)
			t.wantedActive += active
			t.active += min(active, have.Running)
		}
	}
	if f.unlabelled() {
		all := f.Pods.All
		all.Succeeded = max(all.Succeeded, succeeded)
		t.exist, t.ready, t.active = all.Exist(), all.Ready(), min(t.wantedActive, all.Running)
	}
	return t
}

// setReady: a workload that ceases to be ready has its full grace periods from then on.
func (f *Facts) setReady(d *Decision, t tally) {
	if t.ready >= t.wanted {
		d.BecameReady = !f.Ready
		d.Clocks.NotReadySince = time.Time{}
		d.set(v1beta2.PodsReady, true, v1beta2.ReasonSufficientPodsReady, "all pods run or have succeeded")
		return
	}
	if f.Ready {
		d.Clocks.NotReadySince = f.Now
	}
	d.set(v1beta2.PodsReady, false, v1beta2.ReasonInsufficientPodsReady, "not all pods run yet")
}

// setRecovering: what a cheaper rung of the ladder has in hand is no unhealthiness. FailureGracePeriod begins when that one has failed,
// which is when it says nothing any more, or its time is over.
func (f *Facts) setRecovering(d *Decision, message string) {
	f.setHealthy(d)
	until := f.recoveringUntil(d)
	d.wait(until, f.Now)
	if f.Evacuation == nil {
		d.set(v1beta2.Unhealthy, false, v1beta2.ReasonRecovering,
			fmt.Sprintf("%s; its own controller is recovering it until %s at the latest", message, until.UTC().Format(time.RFC3339)))
	}
}

// setHealthy, unless the workload waits for its turn to leave bad nodes.
func (f *Facts) setHealthy(d *Decision) {
	d.Clocks.UnhealthySince = time.Time{}
	if e := f.Evacuation; e != nil {
		d.set(v1beta2.Unhealthy, true, v1beta2.ReasonAutopilotNoExecute, e.Message+"; "+e.Held)
		d.waitFor(e.Retry)
		return
	}
	d.set(v1beta2.Unhealthy, false, v1beta2.ReasonFoundNoFailedPods, "")
}
