package policy

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-project/holdfast/elastic-operator/api/v1alpha1"
	"github.com/holdfast-project/holdfast/shared/recovering"
)

// These messages are identical to those of the upstream controller.
func created(name string) string { return "job " + name + " is created." }
func running(name string) string { return "ElasticJob " + name + " is running." }
func restarting(name string, n int) string {
	return fmt.Sprintf("ElasticJob %s is restarting because %d Worker replica(s) failed.", name, n)
}
func failed(name string, n int, who string) string {
	return fmt.Sprintf("ElasticJob %s is failed because %d %s replica(s) failed.", name, n, who)
}
func succeeded(name string) string { return "ElasticJob " + name + " has succeeded." }
func overdue(name string) string {
	return "ElasticJob " + name + " is failed because it was active longer than activeDeadlineSeconds."
}

// workerCounts counts the workers by state.
type workerCounts struct {
	active, ready, pods, unscheduled, starting, replacing, missing, stopping int
	lastFault                                                                time.Time // latest fault of the workers being replaced
}

// report sets the status from the observed pods, before the decision is carried out.
func (d *decider) report() {
	c := d.countWorkers()
	status := d.out.Status
	status.Replicas, status.ReadyReplicas = int32(c.pods), int32(c.ready)
	status.ReplicaStatuses.Worker.Active = int32(c.active)
	if d.Memory.Ended == "" { // the last counts remain valid after the job has finished, even if its pods are deleted
		status.ReplicaStatuses.Worker.Succeeded, status.ReplicaStatuses.Worker.Failed = int32(len(d.m.Completed)), d.failedWorkers()
	}
	status.FailedIndexes = d.abandonedWorkers().String()
	d.setConditions(c)
}

func (d *decider) countWorkers() workerCounts {
	var c workerCounts
	for _, pod := range d.Pods {
		if !pod.terminated() {
			c.pods++
		}
	}
	for _, i := range d.m.Indexes {
		pod, found := d.Pods[i]
		switch {
		case d.m.Completed.Has(i) || d.abandoned(i):
			continue
		case !found:
			c.missing++
		case pod.running():
			c.active++
			if pod.Ready {
				c.ready++
			}
		case pod.Terminating:
			c.stopping++
		case pod.pending() && !pod.Bound:
			c.unscheduled++
		case pod.pending():
			c.starting++
		}
		if d.m.Workers[i].LastReason != "" && !(found && pod.running() && pod.UID != d.m.Workers[i].LastPod) {
			c.replacing++
			if at := fromMicro(d.m.Workers[i].LastTime); at.After(c.lastFault) {
				c.lastFault = at
			}
		}
	}
	return c
}

// failedWorkers counts the workers that were abandoned, or that have failed and have not been replaced yet.
func (d *decider) failedWorkers() int32 {
	var n int32
	for _, i := range d.m.Indexes {
		pod, found := d.Pods[i]
		faulty := d.m.Workers[i].LastReason != "" && !d.m.Completed.Has(i)
		if faulty && (d.abandoned(i) || !found || pod.UID == d.m.Workers[i].LastPod) {
			n++
		}
	}
	return n
}

func (d *decider) setConditions(c workerCounts) {
	d.setCondition(v1alpha1.JobCreated, true, v1alpha1.ReasonCreated, created(d.Name))
	switch {
	case d.m.Ended != "":
		d.setFinishedConditions()
	case d.m.Suspended:
		d.out.Status.State = v1alpha1.StateSuspended
		d.out.Status.Message = d.suspendedMessage(c.pods)
		d.setCondition(v1alpha1.JobSuspended, true, v1alpha1.ReasonSuspended, "ElasticJob "+d.Name+" is suspended.")
		d.setCondition(v1alpha1.JobRestarting, false, v1alpha1.ReasonSuspended, "ElasticJob "+d.Name+" is suspended.")
		d.setCondition(v1alpha1.JobRecovering, false, v1alpha1.ReasonSuspended, "ElasticJob "+d.Name+" is suspended.")
		d.setCondition(v1alpha1.JobRunning, false, v1alpha1.ReasonSuspended, "ElasticJob "+d.Name+" is suspended.")
	default:
		d.setActiveConditions(c)
	}
}

func (d *decider) suspendedMessage(pods int) string {
	switch {
	case pods > 0:
		return fmt.Sprintf("%d workers are being stopped", pods)
	case d.Settings.Queue != "":
		return fmt.Sprintf("waiting for Kueue to admit the job from queue %s", d.Settings.Queue)
	}
	return ""
}

func (d *decider) setFinishedConditions() {
	d.setCondition(v1alpha1.JobRunning, false, v1alpha1.ReasonRunning, running(d.Name))
	d.setCondition(v1alpha1.JobRestarting, false, v1alpha1.ReasonRestarted, "ElasticJob "+d.Name+" has finished.")
	d.setCondition(v1alpha1.JobRecovering, false, v1alpha1.ReasonRestarted, "ElasticJob "+d.Name+" has finished.")
	switch {
	case d.m.Ended == v1alpha1.JobSucceeded:
		d.out.Status.State, d.out.Status.Message = v1alpha1.StateSucceeded, succeeded(d.Name)
		d.setCondition(v1alpha1.JobSucceeded, true, v1alpha1.ReasonSucceeded, d.out.Status.Message)
	case d.m.Overdue:
		d.out.Status.State, d.out.Status.Message = v1alpha1.StateFailed, overdue(d.Name)
		d.setCondition(v1alpha1.JobFailed, true, v1alpha1.ReasonDeadlineExceeded, d.out.Status.Message)
	default:
		d.out.Status.State, d.out.Status.Message = v1alpha1.StateFailed, failed(d.Name, int(d.out.Status.ReplicaStatuses.Worker.Failed), "workers")
		d.setCondition(v1alpha1.JobFailed, true, v1alpha1.ReasonFailed, d.out.Status.Message)
	}
}

func (d *decider) setActiveConditions(c workerCounts) {
	d.setCondition(v1alpha1.JobSuspended, false, v1alpha1.ReasonResumed, "ElasticJob "+d.Name+" is resumed.")
	enough := c.active > 0 && c.active+len(d.m.Completed) >= d.Settings.Min
	incomplete := d.Rendezvous.Incomplete
	d.out.Status.State, d.out.Status.Message = v1alpha1.StatePending, d.waitingFor(c)
	switch {
	case enough && incomplete == "":
		d.out.Status.State = v1alpha1.StateRunning
		d.setCondition(v1alpha1.JobRunning, true, v1alpha1.ReasonRunning, running(d.Name))
	case enough:
		d.out.Status.Message = incomplete
		d.setCondition(v1alpha1.JobRunning, false, v1alpha1.ReasonNotMet, incomplete)
	default:
		d.setCondition(v1alpha1.JobRunning, false, v1alpha1.ReasonNotRunning,
			fmt.Sprintf("%d workers are running, at least %d are required.", c.active, d.Settings.Min))
	}
	if c.replacing > 0 {
		d.out.Status.State = v1alpha1.StateRestarting
		d.setCondition(v1alpha1.JobRestarting, true, v1alpha1.ReasonRestarting, restarting(d.Name, c.replacing))
	} else {
		d.setCondition(v1alpha1.JobRestarting, false, v1alpha1.ReasonRestarted, "All failed workers have been replaced.")
	}
	d.reportRecovery(c)
	d.reportInSync()
}

// waitingFor returns a description of what the job is waiting for, or an empty string if all workers are running.
func (d *decider) waitingFor(c workerCounts) string {
	var parts []string
	for _, part := range []struct {
		n    int
		what string
	}{
		{c.missing, "not created yet"}, {c.unscheduled, "waiting for a node"}, {c.starting, "starting"}, {c.stopping, "being stopped"},
		{len(d.abandonedWorkers()), "abandoned"},
	} {
		if part.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", part.n, part.what))
		}
	}
	if g := d.out.Status.GivenBack; g != nil {
		parts = append(parts, fmt.Sprintf("%d removed because they could not be scheduled", g.Wanted-g.Replicas))
	}
	if !d.m.BelowMin.IsZero() {
		parts = append(parts, "the job fails unless more workers can run")
	}
	if len(parts) == 0 {
		return ""
	}
	return fmt.Sprintf("%d of %d workers are running: %s", c.active, d.Settings.Wanted, strings.Join(parts, ", "))
}

// recoveryTimeout is how long after the last fault other recovery levels leave the job alone. If a worker has not been replaced by then,
// for example because no node has capacity for it, they may act.
const recoveryTimeout = 5 * time.Minute

// reportRecovery announces that workers are being replaced or restarted, so that no other recovery level handles the same fault.
func (d *decider) reportRecovery(c workerCounts) {
	deadline := c.lastFault.Add(recoveryTimeout)
	if c.replacing == 0 && d.announceInPlace() {
		return
	}
	if c.replacing == 0 || d.reached(deadline) {
		d.setCondition(v1alpha1.JobRecovering, false, v1alpha1.ReasonRestarted, "Failed workers have been replaced, or the recovery timeout has expired.")
		return
	}
	d.out.Recovering = &recovering.State{Level: recovering.LevelElastic, Reason: restarting(d.Name, c.replacing), Deadline: deadline}
	d.setCondition(v1alpha1.JobRecovering, true, v1alpha1.ReasonRestarting, restarting(d.Name, c.replacing))
}

// setCondition adds or updates a condition. The times are updated only if the condition has changed. A condition that was never True is not
// added as False, except for InPlaceInSync.
func (d *decider) setCondition(kind v1alpha1.JobConditionType, holds bool, reason, message string) {
	status, at := metav1.ConditionFalse, metav1.NewTime(d.Now.Truncate(time.Second))
	if holds {
		status = metav1.ConditionTrue
	}
	conditions := d.out.Status.Conditions
	i := slices.IndexFunc(conditions, func(c v1alpha1.JobCondition) bool { return c.Type == kind })
	if i < 0 {
		if holds || kind == v1alpha1.JobInPlaceInSync {
			d.out.Status.Conditions = append(conditions, v1alpha1.JobCondition{
				Type: kind, Status: status, Reason: reason, Message: message, LastUpdateTime: at, LastTransitionTime: at,
			})
		}
		return
	}
	known := &conditions[i]
	if known.Status != status {
		known.LastTransitionTime = at
	}
	if known.Status != status || known.Reason != reason || known.Message != message {
		known.Status, known.Reason, known.Message, known.LastUpdateTime = status, reason, message, at
	}
}
