// Package policy implements the life cycle of an AppWrapper as a pure state machine. Given the observed facts, it returns the action, the
// next status, and the reason. It performs no I/O, and the time is an argument.
//
//	                       suspend is false                  all created
//	"" ----> Suspended ----------------------> Resuming -------------------> Running ----> Succeeded
//	             ^                             |  |   ^                      |  |  |
//	             |            suspend          |  |   | pause over           |  |  |  failed for good, or
//	             +---- Suspending <------------+--|---|----------------------+  |  |  no reset left
//	         all gone      ^                      |   |      unhealthy          |  +----------------> Failed
//	                       |      suspend         v   |                         |                        ^
//	                       +------------------- Resetting <---------------------+                        |
//	                                                                                cannot be created ---+
//
// Deletion leads from any phase to Terminating. Every arrow is one status write, which succeeds only for the observed version. A phase's
// actions are carried out after the phase has been written, and are repeated until the cluster shows their result.
package policy

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-project/holdfast/appwrapper-controller/api/v1beta2"
)

var byPhase = map[v1beta2.AppWrapperPhase]func(*Facts) *Decision{
	v1beta2.Empty:       empty,
	v1beta2.Suspended:   suspended,
	v1beta2.Resuming:    resuming,
	v1beta2.Running:     running,
	v1beta2.Suspending:  suspending,
	v1beta2.Resetting:   resetting,
	v1beta2.Succeeded:   succeeded,
	v1beta2.Failed:      failed,
	v1beta2.Terminating: terminating,
}

// Decide returns the next decision. Deletion takes precedence over all phases. An unknown phase is left unchanged.
func Decide(f *Facts) *Decision {
	if f.Deleted {
		return terminating(f)
	}
	if phase, known := byPhase[f.Phase]; known {
		return phase(f)
	}
	return f.decision()
}

// Removing reports whether objects are being removed. If so, the remaining ones must be observed.
func Removing(f *Facts) bool {
	if !f.Deployed {
		return f.Phase == v1beta2.Suspending
	}
	switch {
	case f.Deleted:
		return true
	case f.Phase == v1beta2.Failed:
		return !paused(f)
	case f.Phase == v1beta2.Succeeded:
		return expired(f)
	}
	return f.Phase == v1beta2.Suspending || f.Phase == v1beta2.Resetting
}

// empty initializes the status, including the names and pod sets of the components.
func empty(f *Facts) *Decision {
	if f.Unreviewed != "" {
		return f.refuse()
	}
	d := f.decision()
	d.Next = v1beta2.Suspended
	return d
}

// refuse creates no components, because the webhook did not review the AppWrapper.
func (f *Facts) refuse() *Decision {
	const allow = "recreate it in a namespace that the webhook covers, or set userRBACAdmissionCheck to false"
	d := f.decision()
	d.set(v1beta2.AccessReviewed, false, v1beta2.ReasonNotReviewed, f.Unreviewed+"; "+allow)
	d.event(true, v1beta2.ReasonNotReviewed, "Refusing", "nothing is created: "+f.Unreviewed+"; "+allow)
	return d
}

func suspended(f *Facts) *Decision {
	d := f.decision()
	switch {
	case f.Suspend:
		return d
	case f.Unreviewed != "":
		return f.refuse()
	}
	if !f.Finalizer {
		d.Do = AddFinalizer
	}
	d.set(v1beta2.QuotaReserved, true, string(v1beta2.Resuming), "Suspend is false")
	d.begin(f, "Suspend is false")
	return d
}

// begin starts an attempt and drops the state of the previous one.
func (d *Decision) begin(f *Facts, message string) {
	const reason = string(v1beta2.Resuming)
	d.Next, d.Begins = v1beta2.Resuming, true
	d.Clocks = v1beta2.Clocks{AttemptStart: metav1.NewMicroTime(f.Now)}
	d.set(v1beta2.ResourcesDeployed, true, reason, message)
	d.set(v1beta2.PodsReady, false, reason, message)
	d.set(v1beta2.Unhealthy, false, reason, message)
}

// suspend removes everything that was, or may have been, created.
func suspend(f *Facts) *Decision {
	d := f.decision()
	d.Next = v1beta2.Suspending
	d.Ends = &End{Reason: string(v1beta2.Suspended), Message: "suspend was set"}
	if f.Phase != v1beta2.Resetting { // a reset has already started the deletion
		d.Clocks.DeletionStart, d.Clocks.DeletionEnd = metav1.MicroTime{}, metav1.MicroTime{}
	}
	d.event(false, "ExternallySuspended", string(v1beta2.Suspending), "suspend was set: all components are removed, then the quota is released")
	return d
}

func suspending(f *Facts) *Decision {
	return f.remove(func(d *Decision) {
		const reason, message = string(v1beta2.Suspended), "Suspend is true"
		d.Next = v1beta2.Suspended
		d.set(v1beta2.ResourcesDeployed, false, reason, message)
		d.set(v1beta2.QuotaReserved, false, reason, message)
		d.set(v1beta2.PodsReady, false, reason, message)
		d.set(v1beta2.Unhealthy, false, reason, message)
	})
}

// resetting removes the components, waits for the retry pause, and starts the next attempt. The quota is kept.
func resetting(f *Facts) *Decision {
	if f.Suspend {
		return suspend(f)
	}
	if f.Deployed {
		return f.remove(func(d *Decision) {
			d.set(v1beta2.ResourcesDeployed, false, string(v1beta2.Resetting), "Resources deleted for resetting AppWrapper")
			d.wait(f.Now.Add(f.Parameters.RetryPausePeriod.Duration), f.Now)
		})
	}
	d := f.decision()
	if d.reached(f.Clocks.DeletionEnd.Add(f.Parameters.RetryPausePeriod.Duration), f.Now) {
		d.begin(f, "Reset complete; resuming")
	}
	return d
}

func paused(f *Facts) bool {
	return !f.Suspend && f.Now.Before(f.Clocks.Finished.Add(f.Parameters.DeletionOnFailureGracePeriod.Duration))
}

// failed removes the components after a pause. The quota is held until everything is deleted.
func failed(f *Facts) *Decision {
	if !f.Deployed {
		return f.deleteAfterTTL()
	}
	if paused(f) {
		d := f.decision()
		d.set(v1beta2.DeletingResources, false, v1beta2.ReasonDeletionPaused,
			fmt.Sprintf("%v has value %v", v1beta2.DeletionOnFailureGracePeriodKey, f.Parameters.DeletionOnFailureGracePeriod))
		d.wait(f.Clocks.Finished.Add(f.Parameters.DeletionOnFailureGracePeriod.Duration), f.Now)
		return d
	}
	return f.remove(func(d *Decision) {
		const reason = string(v1beta2.Failed)
		d.set(v1beta2.ResourcesDeployed, false, reason, "Resources deleted for failed AppWrapper")
		d.set(v1beta2.QuotaReserved, false, reason, "No resources deployed")
	})
}

// deleteAfterTTL deletes a finished AppWrapper once ObjectTTL, if set, has passed since the last of its components was deleted.
func (f *Facts) deleteAfterTTL() *Decision {
	d := f.decision()
	if ttl := f.Parameters.ObjectTTL.Duration; ttl != 0 && d.reached(f.Clocks.DeletionEnd.Add(ttl), f.Now) {
		d.Do = DeleteObject
	}
	return d
}

func expired(f *Facts) bool {
	return !f.Now.Before(f.Clocks.Finished.Add(f.Parameters.SuccessTTL.Duration))
}

func succeeded(f *Facts) *Decision {
	d := f.decision()
	switch {
	case !f.Deployed:
		return f.deleteAfterTTL()
	case !expired(f):
		d.wait(f.Clocks.Finished.Add(f.Parameters.SuccessTTL.Duration), f.Now)
		return d
	}
	return f.remove(func(d *Decision) {
		d.set(v1beta2.ResourcesDeployed, false, string(v1beta2.Succeeded),
			fmt.Sprintf("Time to live after success of %v expired", f.Parameters.SuccessTTL))
	})
}

func terminating(f *Facts) *Decision {
	const reason = string(v1beta2.Terminating)
	if !f.Finalizer {
		return f.decision()
	}
	if !f.Deployed && f.Phase != v1beta2.Suspending {
		d := f.decision()
		d.Do = Release
		return d
	}
	d := f.remove(func(d *Decision) {
		d.set(v1beta2.ResourcesDeployed, false, reason, "Resources successfully deleted")
		d.set(v1beta2.QuotaReserved, false, reason, "No resources deployed")
	})
	if f.Phase != v1beta2.Terminating {
		d.Ends = &End{Reason: reason, Message: "the AppWrapper was deleted"}
	}
	d.Next = v1beta2.Terminating
	return d
}

// Outcome is the result of Create. The zero value means that all components exist.
type Outcome struct {
	// Err is why a component could not be created; empty if all were created.
	Err string
	// Fatal means that the error is permanent.
	Fatal bool
	// Refused means that the API server rejected the request and created nothing.
	Refused bool
}

func resuming(f *Facts) *Decision {
	if f.Suspend {
		return suspend(f)
	}
	if f.Unreviewed != "" {
		return f.fail(v1beta2.ReasonCreateFailed, f.Unreviewed)
	}
	d := f.decision()
	d.Do = Create
	return d
}

// minCreateRetry and maxCreateRetry are the bounds of the delay after a failure to create a component. It is as long as the attempt so far,
// so it doubles each time.
const minCreateRetry, maxCreateRetry = 100 * time.Millisecond, 10 * time.Second

// AfterCreate returns the decision that follows the outcome of Create.
func AfterCreate(f *Facts, o Outcome) *Decision {
	d := f.decision()
	switch {
	case o.Err == "":
		d.Next = v1beta2.Running
		// The attempt may have started long ago, before a controller outage, so the grace periods of the pods start now.
		d.Clocks.NotReadySince.Time = f.Now
		return d
	case o.Fatal:
		return f.fail(v1beta2.ReasonCreateFailed, o.Err)
	case !d.reached(f.Clocks.AttemptStart.Add(f.Parameters.AdmissionGracePeriod.Duration), f.Now):
		d.waitFor(min(maxCreateRetry, max(minCreateRetry, f.Now.Sub(f.Clocks.AttemptStart.Time))))
		return d
	}
	return f.resetOrFail(v1beta2.ReasonCreateFailed, o.Err)
}
