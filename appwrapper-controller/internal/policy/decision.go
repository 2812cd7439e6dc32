package policy

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-project/holdfast/appwrapper-controller/api/v1beta2"
)

// Action to take before the decision is written down. If it fails, nothing is written.
type Action int

const (
	// Nothing is to be done.
	Nothing Action = iota
	// AddFinalizer, before anything is created.
	AddFinalizer
	// Create the components that are not there. Its outcome goes to AfterCreate.
	Create
	// Delete what remains, in the ordinary way.
	Delete
	// ForcePods deletes the pods that remain without any grace.
	ForcePods
	// ForceComponents deletes the objects that remain without any grace, once there are no pods.
	ForceComponents
	// Release removes the finalizer.
	Release
	// DeleteObject deletes the AppWrapper itself, which is finished and has nothing deployed.
	DeleteObject
)

// Decision is what to do and what to write down.
type Decision struct {
	Do   Action
	Next v1beta2.AppWrapperPhase
	// Conditions to write; those not named stay.
	Conditions           []Condition
	Clocks               Clocks
	Retries, Evacuations int32
	// Begins an attempt.
	Begins bool
	// Ends the attempt; nil if it goes on.
	Ends *End
	// BecameReady: all pods run.
	BecameReady bool
	// After is when to look again even if nothing happens; 0: no need to.
	After time.Duration
	// Events to send after the writing.
	Events []Event
	// Confirm: the decision cannot be taken back and rests on what may be stale. It is to be made again with live reads.
	Confirm bool
}

// Condition to write.
type Condition struct {
	Type            v1beta2.AppWrapperCondition
	Status          metav1.ConditionStatus
	Reason, Message string
}

// End of an attempt.
type End struct {
	Reason, Message string
	Nodes           []string
	Evacuation      bool
}

// Event to send.
type Event struct {
	Warning              bool
	Reason, Action, Note string
}

// decision starts as nothing to do and nothing to change.
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

// wait asks to be called again at a time, or earlier if something else wants to.
func (d *Decision) wait(until, now time.Time) { d.waitFor(max(time.Millisecond, until.Sub(now))) }

func (d *Decision) waitFor(period time.Duration) {
	if d.After == 0 || period < d.After {
		d.After = period
	}
}
