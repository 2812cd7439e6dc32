package policy

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-project/holdfast/appwrapper-controller/api/v1beta2"
	"github.com/holdfast-project/holdfast/appwrapper-controller/internal/health"
	"github.com/holdfast-project/holdfast/appwrapper-controller/internal/pods"
)

// running checks the failure conditions, those without FailureGracePeriod first. A completed component does not count
// as missing if its object is gone, because its TTL may have passed.
func running(f *Facts) *Decision {
	if f.Suspend {
		return suspend(f)
	}
	for _, c := range f.Components {
		if c.Report.State == health.Failed && !c.Succeeded {
			return f.resetOrFail(v1beta2.ReasonFailedComponent, strings.TrimSuffix(c.Name+" has failed: "+c.Report.Message, ": "))
		}
	}
	if f.succeeded() {
		return f.succeed()
	}
	for _, c := range f.Components {
		if c.missing() {
			return f.fail(v1beta2.ReasonMissingComponent, c.Name+" was deleted by another client")
		}
	}
	if e := f.Evacuation; e != nil && e.Held == "" {
		return f.resetOrFail(v1beta2.ReasonAutopilotNoExecute, e.Message)
	}
	return f.decideByPods()
}

// missing reports whether someone else has deleted the component's object.
func (c Component) missing() bool {
	return c.Created && !c.done() && (c.Presence == Absent || c.Presence == Terminating)
}

// succeeded reports whether all components with pods are done. A component whose kind does not report completion is done when all of its
// pods have succeeded.
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
	if byPods > 0 && f.unlabelled() && (f.Pods.All.Failed > 0 || !allSucceeded(f.Pods.All, byPods)) {
		return false
	}
	return working
}

// unlabelled reports whether there are pods without the component label.
func (f *Facts) unlabelled() bool {
	_, found := f.Pods.ByComponent[pods.UnknownComponent]
	return found
}

func allSucceeded(c pods.Count, wanted int32) bool {
	return c.Succeeded >= wanted && c.Pending == 0 && c.Running == 0 && c.Terminating == 0
}

// succeed releases the quota immediately. The components are kept until SuccessTTL has passed.
func (f *Facts) succeed() *Decision {
	d := f.decision()
	message := fmt.Sprintf("%v pods succeeded and no running, pending, or failed pods", f.Pods.All.Succeeded)
	d.Confirm = true
	d.Next, d.Clocks.Finished.Time = v1beta2.Succeeded, f.Now
	d.Clocks.DeletionStart, d.Clocks.DeletionEnd = metav1.MicroTime{}, metav1.MicroTime{} // of an earlier removal
	d.Ends = &End{Reason: string(v1beta2.Succeeded), Message: "the work is done"}
	d.set(v1beta2.QuotaReserved, false, string(v1beta2.Succeeded), message)
	d.set(v1beta2.ResourcesDeployed, true, string(v1beta2.Succeeded), message)
	d.set(v1beta2.Unhealthy, false, v1beta2.ReasonFoundNoFailedPods, "")
	d.event(false, string(v1beta2.Succeeded), string(v1beta2.Succeeded),
		fmt.Sprintf("the work is done and the quota is released; all components are removed after %s", f.Parameters.SuccessTTL))
	return d
}

// decideByPods checks the three failure conditions that depend on pods. The controllers of the components have FailureGracePeriod to repair
// pods. The messages contain no counts, because otherwise every pod that becomes ready would cause a status write.
func (f *Facts) decideByPods() *Decision {
	d := f.decision()
	if !f.HoldDown.IsZero() {
		d.wait(f.HoldDown, f.Now)
	}
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
		d.Clocks.UnhealthySince.Time = f.Now
	}
	if d.reached(d.Clocks.UnhealthySince.Add(f.Parameters.FailureGracePeriod.Duration), f.Now) {
		return f.resetOrFail(reason, fmt.Sprintf("%s (%d failed, %d of %d pods are ready)", message, len(f.failedPods()), t.ready, t.wanted))
	}
	d.set(v1beta2.Unhealthy, true, reason, message)
	if f.Clocks.UnhealthySince.IsZero() {
		d.event(true, reason, string(v1beta2.Unhealthy), fmt.Sprintf("%s; if this is not repaired within %s, the workload is reset, or fails if it may not be reset", message, f.Parameters.FailureGracePeriod))
	}
	return d
}

// findPodProblem returns what is wrong with the pods. If nothing is wrong yet, it requests a reconcile for when a grace period ends.
func (f *Facts) findPodProblem(d *Decision, t tally) (reason, message string) {
	if list := f.failedPods(); len(list) > 0 && !f.restarting() {
		return v1beta2.ReasonFoundFailedPods, "Found failed pods" + first(list)
	}
	start := f.notReadySince(d)
	switch {
	case t.ready < t.wanted:
	case t.active < t.wantedActive: // between two waves of a Job
		if f.Pods.Progress.After(start) {
			start = f.Pods.Progress
		}
	default:
		return "", ""
	}
	if t.exist < t.wanted && d.reached(start.Add(f.Parameters.AdmissionGracePeriod.Duration), f.Now) {
		return v1beta2.ReasonInsufficientPodsReady, fmt.Sprintf("not all pods exist after %s", f.Parameters.AdmissionGracePeriod)
	}
	if d.reached(start.Add(f.Parameters.WarmupGracePeriod.Duration), f.Now) {
		return v1beta2.ReasonInsufficientPodsReady, fmt.Sprintf("not all pods are running after %s", f.Parameters.WarmupGracePeriod)
	}
	return "", ""
}

// notReadySince returns when the pods were requested or when they last stopped being ready, whichever is later.
func (f *Facts) notReadySince(d *Decision) time.Time {
	if d.Clocks.NotReadySince.After(d.Clocks.AttemptStart.Time) {
		return d.Clocks.NotReadySince.Time
	}
	return d.Clocks.AttemptStart.Time
}

// recoveringUntil returns when to stop waiting for a component's own recovery: at its deadline, or after GracePeriodMaximum if that ends
// earlier.
func (f *Facts) recoveringUntil(d *Decision) time.Time {
	if limit := f.notReadySince(d).Add(f.Parameters.GracePeriodMaximum.Duration); f.Recovering.After(limit) {
		return limit
	}
	return f.Recovering
}

// failedPods returns the failed pods of components that still need them. A component that has all of its pods does not need the failed ones:
// if a pod and its replacement failed one after the other, a single pod has replaced both. This does not apply to a component that does not
// need all of its pods yet, because it may need the failed ones next.
func (f *Facts) failedPods() []*corev1.Pod {
	return slices.DeleteFunc(slices.Clone(f.Pods.Failed), func(pod *corev1.Pod) bool {
		i := pods.Component(pod)
		if i == pods.UnknownComponent || i >= len(f.Components) {
			return false
		}
		c, have := f.Components[i], f.podsOf(i)
		all := c.done() || c.wanted() == c.Pods && have.Ready() >= c.Pods
		return c.Report.EnoughPods || all && have.Running >= c.wantedActive()
	})
}

// podsOf counts the pods of a component. Succeeded pods count even if they have been deleted, which happens in clusters with many pods.
func (f *Facts) podsOf(i int) pods.Count {
	have := f.Pods.ByComponent[i]
	have.Succeeded = max(have.Succeeded, f.Components[i].Report.Succeeded)
	return have
}

// restarting reports whether a component is replacing its own pods. WarmupGracePeriod limits how long that may take.
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

// tally holds the numbers of pods that count toward their components.
type tally struct {
	// exist, ready and wanted include succeeded pods.
	exist, ready, wanted int32
	// wantedActive is the number of pods that the components still have to run, and active is how many of these are running.
	active, wantedActive int32
}

// tally counts pods. If the component of each pod is known, extra pods of one component do not make up for missing pods of another.
func (f *Facts) tally() tally {
	var t tally
	var succeeded int32
	for i, c := range f.Components {
		want, have, active := c.wanted(), f.podsOf(i), c.wantedActive()
		succeeded += c.Report.Succeeded
		t.wanted += want
		t.exist += min(want, have.Exist())
		t.ready += min(want, have.Ready())
		t.wantedActive += active
		t.active += min(active, have.Running)
	}
	if f.unlabelled() {
		all := f.Pods.All
		all.Succeeded = max(all.Succeeded, succeeded)
		t.exist, t.ready, t.active = all.Exist(), all.Ready(), min(t.wantedActive, all.Running)
	}
	return t
}

// setReady sets PodsReady. When a workload stops being ready, its grace periods start again.
func (f *Facts) setReady(d *Decision, t tally) {
	if t.ready >= t.wanted {
		d.BecameReady = !f.Ready
		d.Clocks.NotReadySince = metav1.MicroTime{}
		d.set(v1beta2.PodsReady, true, v1beta2.ReasonSufficientPodsReady, "all pods are running or have succeeded")
		return
	}
	if f.Ready {
		d.Clocks.NotReadySince.Time = f.Now
	}
	d.set(v1beta2.PodsReady, false, v1beta2.ReasonInsufficientPodsReady, "not all pods are running yet")
}

// setRecovering treats a workload that a lower recovery level is recovering as healthy. FailureGracePeriod starts when that recovery has
// failed or its deadline has passed.
func (f *Facts) setRecovering(d *Decision, message string) {
	f.setHealthy(d)
	until := f.recoveringUntil(d)
	d.wait(until, f.Now)
	if f.Evacuation == nil {
		d.set(v1beta2.Unhealthy, false, v1beta2.ReasonRecovering,
			fmt.Sprintf("%s; its own controller is recovering it until %s at the latest", message, until.UTC().Format(time.RFC3339)))
	}
}

// evacuationPoll is the retry interval of a waiting evacuation.
const evacuationPoll = 5 * time.Second

// setHealthy marks the workload as healthy, unless its evacuation must wait.
func (f *Facts) setHealthy(d *Decision) {
	d.Clocks.UnhealthySince = metav1.MicroTime{}
	if e := f.Evacuation; e != nil {
		d.set(v1beta2.Unhealthy, true, v1beta2.ReasonAutopilotNoExecute, e.Message+"; "+e.Held)
		d.waitFor(evacuationPoll)
		return
	}
	d.set(v1beta2.Unhealthy, false, v1beta2.ReasonFoundNoFailedPods, "")
}
