package policy

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/holdfast-project/holdfast/appwrapper-controller/api/v1beta2"
	"github.com/holdfast-project/holdfast/appwrapper-controller/internal/pods"
	"github.com/holdfast-project/holdfast/shared/grace"
)

// judgePods looks at the three conditions that are about pods, which the controllers of the components may still make good: they
// have FailureGracePeriod for that.
func (f *Facts) judgePods() *Decision {
	d := f.decision()
	exist, ready, wanted := f.tally()
	f.setReady(d, ready >= wanted)
	reason, message := f.wrongPods(d, exist, ready, wanted)
	switch {
	case reason == "":
		f.setHealthy(d)
		return d
	case f.Now.Before(f.Recovering):
		f.setRecovering(d, message)
		return d
	case d.Clocks.UnhealthySince.IsZero():
		d.Clocks.UnhealthySince = f.Now
	}
	deadline := grace.Deadline{Start: d.Clocks.UnhealthySince, Period: f.Parameters.FailureGracePeriod}
	switch {
	case deadline.Passed(f.Now):
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
func (f *Facts) wrongPods(d *Decision, exist, ready, wanted int32) (reason, message string) {
	if list := f.failedPods(); len(list) > 0 && !f.restarting() {
		return v1beta2.ReasonFoundFailedPods, fmt.Sprintf("Found %v failed pods%s", len(list), first(list))
	}
	if ready >= wanted {
		return "", ""
	}
	start := d.Clocks.AttemptStart
	if d.Clocks.NotReadySince.After(start) {
		start = d.Clocks.NotReadySince
	}
	if admission := start.Add(f.Parameters.AdmissionGracePeriod); exist < wanted {
		if !f.Now.Before(admission) {
			return v1beta2.ReasonInsufficientPodsReady, fmt.Sprintf("%d of %d pods exist after %s", exist, wanted, f.Parameters.AdmissionGracePeriod)
		}
		d.wait(admission, f.Now)
	}
	warmup := start.Add(f.Parameters.WarmupGracePeriod)
	if !f.Now.Before(warmup) {
		return v1beta2.ReasonInsufficientPodsReady, fmt.Sprintf("%d of %d pods run after %s", ready, wanted, f.Parameters.WarmupGracePeriod)
	}
	d.wait(warmup, f.Now)
	return "", ""
}

// failedPods are those of components that need them: of one that is done, or goes on without them, nobody waits for any.
func (f *Facts) failedPods() []*corev1.Pod {
	return slices.DeleteFunc(slices.Clone(f.Pods.Failed), func(pod *corev1.Pod) bool {
		i := pods.Component(pod)
		return i != pods.Anywhere && i < len(f.Components) && (f.Components[i].done() || f.Components[i].Report.GoesOn)
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

// tally counts pods that exist, those that are ready, and those that should be. Pods of one component do not stand in for those of
// another where it is known whose they are.
func (f *Facts) tally() (exist, ready, wanted int32) {
	for i, c := range f.Components {
		want := c.wanted()
		wanted += want
		have := f.Pods.ByComponent[i]
		exist += min(want, have.Exist())
		ready += min(want, have.Ready())
	}
	if f.unlabelled() {
		return f.Pods.All.Exist(), f.Pods.All.Ready(), wanted
	}
	return exist, ready, wanted
}

// setReady: a workload that ceases to be ready has its full grace periods from then on.
func (f *Facts) setReady(d *Decision, ready bool) {
	all := f.Pods.All
	if ready {
		d.BecameReady = !f.Ready
		d.Clocks.NotReadySince = time.Time{}
		d.set(v1beta2.PodsReady, true, v1beta2.ReasonSufficientPodsReady, fmt.Sprintf("%v pods running; %v pods succeeded", all.Running, all.Succeeded))
		return
	}
	if f.Ready {
		d.Clocks.NotReadySince = f.Now
	}
	d.set(v1beta2.PodsReady, false, v1beta2.ReasonInsufficientPodsReady,
		fmt.Sprintf("%v pods pending; %v pods running; %v pods succeeded", all.Pending, all.Running, all.Succeeded))
}

// setRecovering: what a cheaper rung of the ladder has in hand is no unhealthiness. FailureGracePeriod begins when that one has failed,
// which is when it says nothing any more, or its time is over.
func (f *Facts) setRecovering(d *Decision, message string) {
	f.setHealthy(d)
	d.wait(f.Recovering, f.Now)
	if f.Evacuation == nil {
		d.set(v1beta2.Unhealthy, false, v1beta2.ReasonRecovering,
			fmt.Sprintf("%s; its own controller is recovering it until %s at the latest", message, f.Recovering.UTC().Format(time.RFC3339)))
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
