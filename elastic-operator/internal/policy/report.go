package policy

import (
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-project/holdfast/elastic-operator/api/v1alpha1"
)

// The messages are those of the seed, to the letter.
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

// tally is what the workers do.
type tally struct {
	active, ready, there, waiting, starting, replacing, missing, leaving int
	// lastFault of those that are being replaced.
	lastFault time.Time
}

// report sums up what was seen, as it is before anything is done about it.
func (d *decider) report() {
	t := d.tally()
	d.out.Replicas, d.out.Ready = int32(t.there), int32(t.ready)
	d.out.Counts = v1alpha1.ReplicaStatus{Active: int32(t.active), Succeeded: int32(len(d.m.Completed)), Failed: d.failedWorkers()}
	if d.Memory.Ended != "" {
		d.out.Counts.Succeeded, d.out.Counts.Failed = d.Reported.Succeeded, d.Reported.Failed
	}
	for _, i := range d.m.Indexes {
		if d.dead(i) {
			d.out.Dead = d.out.Dead.With(i)
		}
	}
	d.conditions(t)
}

func (d *decider) tally() tally {
	var t tally
	for _, pod := range d.Pods {
		if !pod.over() {
			t.there++
		}
	}
	for _, i := range d.m.Indexes {
		pod, there := d.Pods[i]
		switch {
		case d.m.Completed.Has(i) || d.dead(i):
			continue
		case !there:
			t.missing++
		case pod.running():
			t.active++
			if pod.Ready {
				t.ready++
			}
		case pod.Terminating:
			t.leaving++
		case pod.Phase == Pending && !pod.Bound:
			t.waiting++
		case pod.Phase == Pending:
			t.starting++
		}
		if d.m.Workers[i].LastReason != "" && !(there && pod.running() && pod.UID != d.m.Workers[i].LastPod) {
			t.replacing++
			t.lastFault = later(t.lastFault, d.m.Workers[i].LastTime)
		}
	}
	return t
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// failedWorkers returns the workers that have failed: abandoned ones, and those that are about to be replaced.
func (d *decider) failedWorkers() int32 {
	var n int32
	for _, i := range d.m.Indexes {
		pod, there := d.Pods[i]
		known := d.m.Workers[i].LastReason != "" && !d.m.Completed.Has(i)
		if known && (d.dead(i) || !there || pod.UID == d.m.Workers[i].LastPod) {
			n++
		}
	}
	return n
}

// conditions that hold. Those that never did are not mentioned before they do.
func (d *decider) conditions(t tally) {
	d.say(v1alpha1.JobCreated, true, v1alpha1.ReasonCreated, created(d.Name))
	switch {
	case d.m.Ended != "":
		d.ended()
	case d.m.Suspended:
		d.out.State = v1alpha1.StateSuspended
		d.out.Message = d.suspendedMessage(t.there)
		d.say(v1alpha1.JobSuspended, true, v1alpha1.ReasonSuspended, "ElasticJob "+d.Name+" is suspended.")
		d.say(v1alpha1.JobRestarting, false, v1alpha1.ReasonSuspended, "ElasticJob "+d.Name+" is suspended.")
		d.say(v1alpha1.JobRecovering, false, v1alpha1.ReasonSuspended, "ElasticJob "+d.Name+" is suspended.")
		d.say(v1alpha1.JobRunning, false, v1alpha1.ReasonSuspended, "ElasticJob "+d.Name+" is suspended.")
	default:
		d.alive(t)
	}
}

func (d *decider) suspendedMessage(there int) string {
	switch {
	case there > 0:
		return fmt.Sprintf("%d workers are being stopped", there)
	case d.Settings.Queue != "":
		return fmt.Sprintf("waiting for Kueue to grant workers from queue %s", d.Settings.Queue)
	}
	return ""
}

func (d *decider) ended() {
	d.say(v1alpha1.JobRunning, false, v1alpha1.ReasonRunning, running(d.Name))
	d.say(v1alpha1.JobRestarting, false, v1alpha1.ReasonRestarted, "ElasticJob "+d.Name+" has finished.")
	d.say(v1alpha1.JobRecovering, false, v1alpha1.ReasonRestarted, "ElasticJob "+d.Name+" has finished.")
	switch {
	case d.m.Ended == v1alpha1.JobSucceeded:
		d.out.State, d.out.Message = v1alpha1.StateSucceeded, succeeded(d.Name)
		d.say(v1alpha1.JobSucceeded, true, v1alpha1.ReasonSucceeded, d.out.Message)
	case d.m.Overdue:
		d.out.State, d.out.Message = v1alpha1.StateFailed, overdue(d.Name)
		d.say(v1alpha1.JobFailed, true, v1alpha1.ReasonDeadlineExceeded, d.out.Message)
	default:
		d.out.State, d.out.Message = v1alpha1.StateFailed, failed(d.Name, int(d.out.Counts.Failed), "workers")
		d.say(v1alpha1.JobFailed, true, v1alpha1.ReasonFailed, d.out.Message)
	}
}

func (d *decider) alive(t tally) {
	d.say(v1alpha1.JobSuspended, false, v1alpha1.ReasonResumed, "ElasticJob "+d.Name+" is resumed.")
	done := len(d.m.Completed)
	enough := t.active > 0 && t.active+done >= d.Settings.Min
	unmet := d.Rendezvous.Unmet
	d.out.State, d.out.Message = v1alpha1.StatePending, d.waiting(t)
	switch {
	case enough && unmet == "":
		d.out.State = v1alpha1.StateRunning
		d.say(v1alpha1.JobRunning, true, v1alpha1.ReasonRunning, running(d.Name))
	case enough:
		d.out.Message = unmet
		d.say(v1alpha1.JobRunning, false, v1alpha1.ReasonNotMet, unmet)
	default:
		d.say(v1alpha1.JobRunning, false, v1alpha1.ReasonNotRunning, fmt.Sprintf("%d workers run and at least %d are needed.", t.active, d.Settings.Min))
	}
	if t.replacing > 0 {
		d.out.State = v1alpha1.StateRestarting
		d.say(v1alpha1.JobRestarting, true, v1alpha1.ReasonRestarting, restarting(d.Name, t.replacing))
	} else {
		d.say(v1alpha1.JobRestarting, false, v1alpha1.ReasonRestarted, "Workers that failed have been replaced.")
	}
	d.recover(t)
	d.inSync()
}

// waiting says what the job waits for.
func (d *decider) waiting(t tally) string {
	var parts []string
	for _, part := range []struct {
		n    int
		what string
	}{
		{t.missing, "not created yet"}, {t.waiting, "waiting for a node"}, {t.starting, "starting"}, {t.leaving, "being stopped"}, {d.deadWorkers(), "given up"},
	} {
		if part.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", part.n, part.what))
		}
	}
	if g := d.m.GivenBack; g != nil {
		parts = append(parts, fmt.Sprintf("%d given back for want of room", g.Wanted-g.Replicas))
	}
	if !d.m.BelowMin.IsZero() {
		parts = append(parts, "fails unless more workers become possible")
	}
	if len(parts) == 0 {
		return ""
	}
	return fmt.Sprintf("%d of %d workers run: %s", t.active, d.Settings.Wanted, strings.Join(parts, ", "))
}

// say that a condition holds, or does not.
func (d *decider) say(kind v1alpha1.JobConditionType, holds bool, reason, message string) {
	status := metav1.ConditionFalse
	if holds {
		status = metav1.ConditionTrue
	}
	d.out.Conditions = append(d.out.Conditions, Condition{Type: kind, Status: status, Reason: reason, Message: message})
}
