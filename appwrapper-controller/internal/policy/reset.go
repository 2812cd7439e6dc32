package policy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-project/holdfast/appwrapper-controller/api/v1beta2"
	"github.com/holdfast-project/holdfast/shared/restart"
)

// Resets lists the attempt endings that may lead to a reset. Their messages are omitted.
var Resets = []End{
	{Reason: v1beta2.ReasonCreateFailed},
	{Reason: v1beta2.ReasonFailedComponent},
	{Reason: v1beta2.ReasonFoundFailedPods},
	{Reason: v1beta2.ReasonInsufficientPodsReady},
	{Reason: v1beta2.ReasonAutopilotNoExecute, Evacuation: true},
}

// resetOrFail resets the workload if the exit codes and its budget allow a reset, and fails it otherwise. Evacuations are counted
// separately. The retry count restarts at zero after an attempt that was ready for RetryDecay.
func (f *Facts) resetOrFail(reason, message string) *Decision {
	if f.terminal(reason) {
		return f.fail(reason, fmt.Sprintf("%s; exit codes %d do not allow a reset", message, f.Pods.ExitCodes()))
	}
	if decay := f.Parameters.RetryDecay.Duration; decay > 0 && f.ReadyFor >= decay {
		decayed := *f
		decayed.Retries = 0
		f = &decayed
	}
	evacuates := reason == v1beta2.ReasonAutopilotNoExecute
	switch {
	case !f.Parameters.RetryLimit.Allows(f.Retries):
		return f.fail(reason, fmt.Sprintf("%s; retryLimit %d is used up", message, f.Parameters.RetryLimit))
	case evacuates && f.EvacuationLimit != nil && !f.EvacuationLimit.Allows(f.Evacuations):
		d := f.fail(reason, fmt.Sprintf("%s; evacuationLimit %d is used up", message, *f.EvacuationLimit))
		d.Ends.Nodes = f.Evacuation.Nodes
		return d
	}
	d := f.end(reason, message)
	d.Next = v1beta2.Resetting
	uncounted := ""
	if evacuates {
		d.Evacuations = restart.Charged(f.Evacuations, 1)
		d.Ends.Nodes, d.Ends.Evacuation = f.Evacuation.Nodes, true
		uncounted = fmt.Sprintf(", evacuation %d, which is not counted", d.Evacuations)
	} else {
		d.Retries = restart.Charged(f.Retries, 1)
	}
	d.event(true, reason, string(v1beta2.Resetting), fmt.Sprintf("%s: all components are removed, and created again after %s; reset %d of %d%s",
		message, f.Parameters.RetryPausePeriod, d.Retries, f.Parameters.RetryLimit, uncounted))
	return d
}

// terminal reports whether the exit codes of failed pods rule out a reset for this reason.
func (f *Facts) terminal(reason string) bool {
	if reason != v1beta2.ReasonFailedComponent && reason != v1beta2.ReasonFoundFailedPods {
		return false
	}
	p := f.Parameters
	return slices.ContainsFunc(f.Pods.ExitCodes(), func(code int32) bool {
		return slices.Contains(p.TerminalExitCodes, code) || (len(p.RetryableExitCodes) > 0 && !slices.Contains(p.RetryableExitCodes, code))
	})
}

// fail ends the workload permanently.
func (f *Facts) fail(reason, message string) *Decision {
	d := f.end(reason, message)
	d.Next, d.Clocks.Finished.Time = v1beta2.Failed, f.Now
	next := "all components are removed, then the quota is released"
	if pause := f.Parameters.DeletionOnFailureGracePeriod.Duration; pause > 0 {
		next = fmt.Sprintf("components and quota are kept for %s; then %s", pause, next)
	}
	d.event(true, reason, string(v1beta2.Failed), fmt.Sprintf("failed: %s; %s", message, next))
	return d
}

// end ends the attempt because the workload is unhealthy.
func (f *Facts) end(reason, message string) *Decision {
	d := f.decision()
	d.Confirm = true
	d.Ends = &End{Reason: reason, Message: message}
	d.Clocks.DeletionStart, d.Clocks.DeletionEnd = metav1.MicroTime{}, metav1.MicroTime{} // left from an earlier removal
	d.set(v1beta2.Unhealthy, true, reason, message)
	d.set(v1beta2.PodsReady, false, string(v1beta2.Resetting), message)
	if d.Clocks.UnhealthySince.IsZero() {
		d.Clocks.UnhealthySince.Time = f.Now
	}
	return d
}

const (
	// removalPoll is the poll interval for kinds that cannot be watched.
	removalPoll = 15 * time.Second
	// forcePoll is how often a forced deletion is repeated.
	forcePoll = 5 * time.Second
	// maxNamed limits how many remaining objects a message lists.
	maxNamed = 4
)

// remove deletes all components and pods. Once ForcefulDeletionGracePeriod has passed, it forces the deletion, of pods first and then of
// objects. gone sets the status once nothing remains.
func (f *Facts) remove(gone func(*Decision)) *Decision {
	d := f.decision()
	if d.Clocks.DeletionStart.IsZero() {
		d.Clocks.DeletionStart.Time = f.Now
	}
	if len(f.Remains) == 0 {
		d.Clocks.DeletionEnd.Time = f.Now
		d.set(v1beta2.DeletingResources, false, v1beta2.ReasonDeletionComplete, "")
		gone(d)
		return d
	}
	if !d.reached(d.Clocks.DeletionStart.Add(f.Parameters.ForcefulDeletionGracePeriod.Duration), f.Now) {
		d.Do = Delete
		d.set(v1beta2.DeletingResources, true, v1beta2.ReasonDeletionInitiated, "")
		d.waitFor(removalPoll)
		return d
	}
	d.Do = ForceComponents
	if slices.ContainsFunc(f.Remains, func(r Remains) bool { return r.Pod }) {
		d.Do = ForcePods
	}
	evidence := describeRemains(f.Remains)
	d.set(v1beta2.DeletingResources, true, v1beta2.ReasonDeletionInitiated,
		fmt.Sprintf("not deleted within %s, deleting by force: %s", f.Parameters.ForcefulDeletionGracePeriod, evidence))
	d.event(true, "DeletionForced", "Deleting", "the removal has taken longer than "+f.Parameters.ForcefulDeletionGracePeriod.String()+
		" and is now being forced; the quota is held until everything is deleted: "+evidence)
	d.waitFor(forcePoll)
	return d
}

// Explain adds deletion errors to the DeletingResources condition.
func (d *Decision) Explain(remains []Remains) {
	for i := range d.Conditions {
		if c := &d.Conditions[i]; c.Type == string(v1beta2.DeletingResources) {
			c.Message = "held up: " + describeRemains(remains)
		}
	}
}

// describeRemains lists the first few remaining objects and what blocks their deletion. Objects for which the cause is known come first.
// Within each group, objects are sorted by name.
func describeRemains(remains []Remains) string {
	known := func(r Remains) int { return min(1, len(r.Blocked)) }
	sorted := slices.SortedStableFunc(slices.Values(remains), func(a, b Remains) int {
		return cmp.Or(cmp.Compare(known(b), known(a)), cmp.Compare(a.Name, b.Name))
	})
	var texts []string
	for i, r := range sorted {
		if i == maxNamed {
			texts = append(texts, "and more")
			break
		}
		text := r.Name
		if r.Blocked != "" {
			text += " (" + r.Blocked + ")"
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, ", ")
}
