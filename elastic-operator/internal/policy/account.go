package policy

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/holdfast-project/holdfast/elastic-operator/api/v1alpha1"
	"github.com/holdfast-project/holdfast/elastic-operator/internal/indexes"
	"github.com/holdfast-project/holdfast/shared/restart"
)

// fault is a failure or a disruption of a worker.
type fault struct {
	cause     Cause
	reason    string
	permanent bool
	// stuck means that the pod is still running but must be replaced, because its in-place restart failed.
	stuck bool
	// inPlace means that an in-place restart handled the failure. The pod is kept unless the worker is abandoned.
	inPlace bool
}

// account records completed workers. It also counts each pod that failed, or that is terminating for an external reason, exactly once.
func (d *decider) account() {
	d.countInPlace()
	d.refund()
	before := len(d.out.Faults)
	for _, i := range d.m.Indexes {
		pod, there := d.Pods[i]
		switch {
		case !there || d.m.Completed.Has(i):
		case pod.Phase == corev1.PodSucceeded && !pod.Terminating: // a program may exit with 0 when it is stopped
			d.m.Completed = d.m.Completed.With(i)
		case d.m.Workers[i].LastPod == pod.UID:
		default:
			if f := d.findFault(i, pod); f != nil {
				d.countFault(i, pod, *f)
			}
		}
	}
	if n := len(d.out.Faults) - before; n > 0 {
		d.event(corev1.EventTypeWarning, "", v1alpha1.ReasonRestarting, restarting(d.Name, n))
	}
}

// findFault returns a pod's fault, or nil. torchrun exits with 1 in all cases, so the status of the pod and of its node is needed to
// distinguish a disruption from a failure of the program.
func (d *decider) findFault(i int, pod Pod) *fault {
	kubeletRestarts := d.Settings.Restart == v1alpha1.RestartAlways || d.Settings.Restart == v1alpha1.RestartOnFailure
	switch {
	case pod.Node == NodeLost:
		return &fault{cause: CauseDisruption, reason: reasonNodeLost}
	case pod.Disruption != "" && (pod.Terminating || pod.Phase == corev1.PodFailed):
		return &fault{cause: CauseDisruption, reason: pod.Disruption}
	case pod.Terminating:
		return &fault{cause: CauseDisruption, reason: reasonDeleted}
	case d.inPlaceFailure(i, pod) != "":
		return &fault{cause: CauseProgram, reason: d.inPlaceFailure(i, pod), stuck: true}
	case pod.Phase == corev1.PodFailed && !pod.ExceededLimits && d.lostServer(pod):
		return &fault{cause: CauseDisruption, reason: reasonServerLost}
	case pod.Phase == corev1.PodFailed && kubeletRestarts && !pod.ExceededLimits: // otherwise the kubelet would have restarted the failed container
		return &fault{cause: CauseDisruption, reason: reasonTerminated}
	case pod.Phase == corev1.PodFailed:
		return &fault{cause: CauseProgram, reason: exitReason(pod), permanent: d.permanent(pod.ExitCode)}
	case exceeded(d.Settings.Backoff, d.m.Workers[i].Failures+pod.Restarts):
		return &fault{cause: CauseProgram, reason: fmt.Sprintf("its containers have failed %d times", pod.Restarts)}
	}
	return nil
}

// permanent reports whether a worker whose program failed with this exit code must not be replaced.
func (d *decider) permanent(code int32) bool {
	return d.Settings.Restart == v1alpha1.RestartNever || slices.Contains(d.Settings.Permanent, code)
}

func exitReason(pod Pod) string {
	switch {
	case pod.ExceededLimits:
		return "it exceeded its own limits"
	case pod.ExitCode < 0:
		return "it failed"
	case pod.ExitReason != "" && pod.ExitReason != "Error":
		return fmt.Sprintf("%s %d (%s)", exitedWith, pod.ExitCode, pod.ExitReason)
	}
	return fmt.Sprintf("%s %d", exitedWith, pod.ExitCode)
}

// exitedWith is the prefix of the recorded reason for a worker whose program failed.
const exitedWith = "exited with code"

// countFault counts a fault. It also counts container restarts as failures of the program, because the number of restarts is lost when the
// pod is deleted.
func (d *decider) countFault(i int, pod Pod, f fault) {
	h := d.m.Workers[i]
	failures := pod.Restarts
	switch {
	case f.inPlace: // container restarts are counted when the pod ends
		failures = 1
		d.out.Status.InPlace.Failures++
	case f.cause == CauseDisruption:
		h.Disruptions++
		d.out.Status.Disruptions++
	case pod.Phase == corev1.PodFailed || f.stuck:
		failures++
	}
	h.Failures += failures
	d.out.Status.Restarts += failures
	h.Permanent = h.Permanent || f.permanent
	h.LastReason, h.LastTime = f.reason, toMicro(d.Now)
	d.m.Workers[i] = h
	if !f.inPlace || d.abandoned(i) {
		h.LastPod = pod.UID
		d.m.Workers[i] = h
	}
	d.out.Faults = append(d.out.Faults, f.cause)
	d.reportFault(i, pod, f)
}

func (d *decider) reportFault(i int, pod Pod, f fault) {
	name := fmt.Sprintf("%s-worker-%d", d.Name, i)
	switch {
	case f.inPlace && !d.abandoned(i):
		d.event(corev1.EventTypeNormal, name, EventInPlace, fmt.Sprintf("Pod: %s: its worker %s; restarting all workers in place", name, f.reason))
	case f.cause == CauseProgram && pod.Phase == corev1.PodFailed:
		d.event(corev1.EventTypeNormal, name, EventExited, fmt.Sprintf("Pod: %s.%s %s", d.Namespace, name, f.reason))
	case f.stuck:
		d.event(corev1.EventTypeWarning, name, EventNotInPlace, fmt.Sprintf("Pod: %s is being replaced: %s", name, f.reason))
	case f.cause == CauseDisruption:
		d.event(corev1.EventTypeWarning, name, EventDisrupted, fmt.Sprintf("Pod: %s: %s", name, f.reason))
	}
	if d.abandoned(i) {
		d.event(corev1.EventTypeWarning, name, EventAbandoned, fmt.Sprintf("Pod: %s will not be replaced: %s; failures %d, disruptions %d",
			name, f.reason, d.m.Workers[i].Failures, d.m.Workers[i].Disruptions))
	}
}

// abandoned reports whether a worker is no longer replaced. It compares the counts with the current limits, so a raised limit takes effect.
func (d *decider) abandoned(i int) bool {
	h, known := d.m.Workers[i]
	if !known || d.m.Completed.Has(i) {
		return false
	}
	return h.Permanent || exceeded(d.Settings.Backoff, h.Failures) || exceeded(d.Settings.Disruptions, h.Disruptions)
}

func (d *decider) abandonedWorkers() indexes.Set {
	return slices.DeleteFunc(slices.Clone(d.m.Indexes), func(i int) bool { return !d.abandoned(i) })
}

func exceeded(budget *restart.Budget, charged int32) bool {
	return budget != nil && budget.Exceeded(charged)
}
