package policy

import (
	"fmt"
	"slices"

	"github.com/holdfast-project/holdfast/elastic-operator/api/v1alpha1"
	"github.com/holdfast-project/holdfast/shared/restart"
)

// fault is how a worker ended.
type fault struct {
	cause     Cause
	reason    string
	permanent bool
	// stays: its pod has not ended, and is to be replaced all the same.
	stays bool
}

// account notes who has completed, and counts each pod that failed or is on its way out without our doing, once.
func (d *decider) account() {
	d.countInPlace()
	d.refund()
	for _, i := range d.m.Indexes {
		pod, there := d.Pods[i]
		switch {
		case !there || d.m.Completed.Has(i):
		case pod.Phase == Succeeded && !pod.Terminating: // a program that is stopped may well exit with 0
			d.m.Completed = d.m.Completed.With(i)
		case d.m.Workers[i].LastPod == pod.UID:
		default:
			if fault, is := d.faultOf(i, pod); is {
				d.count(i, pod, fault)
			}
		}
	}
	if d.counted > 0 {
		d.event(Event{
			Warning: true, Reason: v1alpha1.ReasonRestarting, Action: actionReplace, Note: restarting(d.Name, d.counted),
		})
	}
}

// faultOf a pod, if it has one. The pod's and the node's status distinguish a disruption from a failure of the program, because
// torchrun exits with 1 either way.
func (d *decider) faultOf(i int, pod Pod) (fault, bool) {
	outside := d.Settings.Restart == v1alpha1.RestartAlways || d.Settings.Restart == v1alpha1.RestartOnFailure
	switch {
	case pod.Node == NodeLost:
		return fault{cause: CauseDisruption, reason: reasonNodeLost}, true
	case pod.Disruption != "" && (pod.Terminating || pod.Phase == Failed):
		return fault{cause: CauseDisruption, reason: pod.Disruption}, true
	case pod.Terminating:
		return fault{cause: CauseDisruption, reason: reasonDeleted}, true
	case d.lost(i, pod) != "":
		return fault{cause: CauseProgram, reason: d.lost(i, pod), stays: true}, true
	case pod.Phase == Failed && !pod.Overran && d.lostServer(pod):
		return fault{cause: CauseDisruption, reason: reasonServerLost}, true
	case pod.Phase == Failed && outside && !pod.Overran: // the kubelet restarts what fails by itself
		return fault{cause: CauseDisruption, reason: reasonEndedAlone}, true
	case pod.Phase == Failed:
		return fault{cause: CauseProgram, reason: exited(pod), permanent: d.permanent(pod)}, true
	case exceeded(d.Settings.Backoff, d.m.Workers[i].Failures+pod.Restarts):
		return fault{cause: CauseProgram, reason: fmt.Sprintf("its containers have failed %d times", pod.Restarts)}, true
	}
	return fault{}, false
}

func (d *decider) permanent(pod Pod) bool {
	return d.Settings.Restart == v1alpha1.RestartNever || slices.Contains(d.Settings.Permanent, pod.ExitCode)
}

func exited(pod Pod) string {
	switch {
	case pod.Overran:
		return "it used more than its own limits"
	case pod.ExitCode < 0:
		return "it failed"
	case pod.ExitReason != "" && pod.ExitReason != "Error":
		return fmt.Sprintf("%s %d (%s)", exitedWith, pod.ExitCode, pod.ExitReason)
	}
	return fmt.Sprintf("%s %d", exitedWith, pod.ExitCode)
}

// exitedWith begins the reason of a worker whose program failed.
const exitedWith = "exited with code"

// count a fault. Restarts within the pod are failures of the program too, and cannot be counted once the pod is gone.
func (d *decider) count(i int, pod Pod, f fault) {
	h := d.m.Workers[i]
	own := pod.Restarts
	if f.cause == CauseProgram && (pod.Phase == Failed || f.stays) {
		own++
	}
	if f.cause == CauseDisruption {
		h.Disruptions++
		d.m.Disruptions++
	}
	h.Failures += own
	d.m.Restarts += own
	h.Permanent = h.Permanent || f.permanent
	h.LastPod, h.LastReason, h.LastTime = pod.UID, f.reason, d.Now
	d.m.Workers[i] = h
	d.out.Faults = append(d.out.Faults, f.cause)
	d.counted++
	d.tell(i, pod, f)
}

func (d *decider) tell(i int, pod Pod, f fault) {
	name := fmt.Sprintf("%s-worker-%d", d.Name, i)
	switch {
	case f.cause == CauseProgram && pod.Phase == Failed:
		d.event(Event{Pod: name, Reason: EventExited, Action: actionReplace, Note: fmt.Sprintf("Pod: %s.%s %s", d.Namespace, name, f.reason)})
	case f.stays:
		d.event(Event{Pod: name, Warning: true, Reason: EventNotInPlace, Action: actionReplace, Note: fmt.Sprintf("Pod: %s is replaced: %s", name, f.reason)})
	case f.cause == CauseDisruption:
		d.event(Event{Pod: name, Warning: true, Reason: EventDisrupted, Action: actionReplace, Note: fmt.Sprintf("Pod: %s: %s", name, f.reason)})
	}
	if d.dead(i) {
		d.event(Event{
			Pod: name, Warning: true, Reason: EventGivenUp, Action: actionGiveUp,
			Note: fmt.Sprintf("Pod: %s is not replaced: %s; failures %d, disruptions %d", name, f.reason, d.m.Workers[i].Failures, d.m.Workers[i].Disruptions),
		})
	}
}

// dead workers are not replaced. That follows from what was counted and from the limits of today, so that a raised limit revives them.
func (d *decider) dead(i int) bool {
	h, known := d.m.Workers[i]
	if !known || d.m.Completed.Has(i) {
		return false
	}
	return h.Permanent || exceeded(d.Settings.Backoff, h.Failures) || exceeded(d.Settings.Disruptions, h.Disruptions)
}

func (d *decider) deadWorkers() int {
	n := 0
	for _, i := range d.m.Indexes {
		if d.dead(i) {
			n++
		}
	}
	return n
}

func exceeded(budget *restart.Budget, charged int32) bool {
	return budget != nil && budget.Exceeded(charged)
}
