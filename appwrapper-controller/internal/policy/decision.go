package policy

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-project/holdfast/appwrapper-controller/api/v1beta2"
)

// Action is taken before the status is written. If it fails, the status is not written.
type Action int

const (
	// Nothing means that there is nothing to do.
	Nothing Action = iota
	// AddFinalizer adds the finalizer before anything is created.
	AddFinalizer
	// Create creates missing components. Pass its outcome to AfterCreate.
	Create
	// Delete deletes what remains, with the usual grace periods.
	Delete
	// ForcePods deletes the remaining pods without a grace period.
	ForcePods
	// ForceComponents deletes the remaining objects without a grace period, once there are no pods.
	ForceComponents
	// Release removes the finalizer.
	Release
	// DeleteObject deletes the AppWrapper itself, which has finished and has nothing deployed.
	DeleteObject
)

// Decision is the action to take and the status to write.
type Decision struct {
	Do   Action
	Next v1beta2.AppWrapperPhase
	// Conditions to write. Others stay as they are.
	Conditions           []Condition
	Clocks               Clocks
	Retries, Evacuations int32
	// Begins reports whether an attempt starts.
	Begins bool
	// Ends is the end of the attempt; nil if it continues.
	Ends *End
	// BecameReady reports whether all pods have just become ready.
	BecameReady bool
	// After is the time until the next reconcile if no event arrives; 0 for never.
	After time.Duration
	// Events to send after the status was written.
	Events []Event
	// Confirm means that the decision is final and may rest on a stale cache. Decide again with live reads.
	Confirm bool
}

// Condition is a condition to write.
type Condition struct {
	Type            v1beta2.AppWrapperCondition
	Status          metav1.ConditionStatus
	Reason, Message string
}

// End is the end of an attempt.
type End struct {
	Reason, Message string
	Nodes           []string
	Evacuation      bool
}

// Event is an event to send.
type Event struct {
	Warning              bool
	Reason, Action, Note string
}

// decision returns a decision that does and changes nothing.
func (f *Facts) decision() *Decision {
	return &Decision{Next: f.Phase, Clocks: f.Clocks, Retries: f.Retries, Evacuations: f.Evacuations}
}

func (d *Decision) set(kind v1beta2.AppWrapperCondition, to bool, reason, message string) {
	status := metav1.ConditionFalse
	if to {
		status = metav1.ConditionTrue
	}
	d.Conditions = append(d.Conditions, Condition{kind, status, reason, message})
}

func (d *Decision) event(warning bool, reason, action, note string) {
	d.Events = append(d.Events, Event{warning, reason, action, note})
}

// wait requests a reconcile at a time, or earlier if requested before.
func (d *Decision) wait(until, now time.Time) { d.waitFor(max(time.Millisecond, until.Sub(now))) }

func (d *Decision) waitFor(period time.Duration) {
	if d.After == 0 || period < d.After {
		d.After = period
	}
}
