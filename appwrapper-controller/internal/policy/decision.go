package policy

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-project/holdfast/appwrapper-controller/api/v1beta2"
	"github.com/holdfast-project/holdfast/appwrapper-controller/internal/health"
	"github.com/holdfast-project/holdfast/appwrapper-controller/internal/pods"
	"github.com/holdfast-project/holdfast/appwrapper-controller/internal/settings"
	"github.com/holdfast-project/holdfast/shared/restart"
)

// Action is what to do before the status is written. If the action fails, the status is written only if the action removes objects.
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
	// DeleteObject deletes the AppWrapper itself, once it has finished and has nothing deployed.
	DeleteObject
)

// Decision is the action to take and the status to write.
type Decision struct {
	Do   Action
	Next v1beta2.AppWrapperPhase
	// Conditions to write. All others are left unchanged.
	Conditions           []metav1.Condition
	Clocks               v1beta2.Clocks
	Retries, Evacuations int32
	// Begins reports whether a new attempt starts.
	Begins bool
	// Ends is the end of the attempt; nil if it continues.
	Ends *End
	// BecameReady reports whether all pods have just become ready.
	BecameReady bool
	// After is the time until the next reconcile if no event arrives; 0 for never.
	After time.Duration
	// Events to send after the status was written.
	Events []Event
	// Confirm means that the decision is final and may be based on a stale cache. Decide again with live reads.
	Confirm bool
}

type End struct {
	Reason, Message string
	Nodes           []string
	Evacuation      bool
}

type Event struct {
	Warning              bool
	Reason, Action, Note string
}

// decision returns a decision that takes no action and changes nothing.
func (f *Facts) decision() *Decision {
	return &Decision{Next: f.Phase, Clocks: f.Clocks, Retries: f.Retries, Evacuations: f.Evacuations}
}

func Condition(kind v1beta2.AppWrapperCondition, to bool, reason, message string) metav1.Condition {
	status := metav1.ConditionFalse
	if to {
		status = metav1.ConditionTrue
	}
	return metav1.Condition{Type: string(kind), Status: status, Reason: reason, Message: message}
}

func (d *Decision) set(kind v1beta2.AppWrapperCondition, to bool, reason, message string) {
	d.Conditions = append(d.Conditions, Condition(kind, to, reason, message))
}

func (d *Decision) event(warning bool, reason, action, note string) {
	d.Events = append(d.Events, Event{warning, reason, action, note})
}

// reached reports whether the given time has come. If not, it requests a reconcile at that time.
func (d *Decision) reached(at, now time.Time) bool {
	if now.Before(at) {
		d.wait(at, now)
		return false
	}
	return true
}

// wait requests a reconcile at the given time, unless an earlier one is already requested.
func (d *Decision) wait(until, now time.Time) { d.waitFor(max(time.Millisecond, until.Sub(now))) }

func (d *Decision) waitFor(period time.Duration) {
	if d.After == 0 || period < d.After {
		d.After = period
	}
}

type Facts struct {
	Now time.Time

	// Requested by the user.
	Suspend, Deleted bool
	Parameters       settings.Parameters
	// EvacuationLimit is set by the operator; nil means no limit.
	EvacuationLimit *restart.Budget

	// Recorded in the status and metadata.
	Phase     v1beta2.AppWrapperPhase
	Finalizer bool // whether our finalizer is set
	// Unreviewed is why the components may not be created; empty if they may.
	Unreviewed string
	// Deployed is the status of the ResourcesDeployed condition.
	Deployed bool
	// Ready is the status of the PodsReady condition.
	Ready                bool
	Retries, Evacuations int32
	Clocks               v1beta2.Clocks
	// ReadyFor is how long all pods have been ready in this attempt; 0 if they are not.
	ReadyFor time.Duration

	// Observed in the cluster.
	Components []Component
	Pods       pods.Summary
	// Remains are the objects and pods still to be removed; nil unless a removal is in progress.
	Remains []Remains
	// Recovering is the deadline of a recovery by a component's own controller; zero if there is none.
	Recovering time.Time
	// Evacuation from bad nodes that is due; nil if none is.
	Evacuation *Evacuation
	// HoldDown is when the next hold-down of a node signal ends; zero if there is none.
	HoldDown time.Time
}

type Presence int

const (
	// Absent means that the object does not exist, or that its kind is not served.
	Absent Presence = iota
	// Present means that the object exists and is not being deleted.
	Present
	// Terminating means that the object is being deleted.
	Terminating
	// Unreadable means that the controller is not allowed to read the object.
	Unreadable
)

type Component struct {
	Name string // kind and name, for messages
	// Created reports whether the component was created in this attempt.
	Created  bool
	Presence Presence
	Report   health.Report
	// Finishes reports whether objects of the kind report their own completion.
	Finishes bool
	// Succeeded reports whether the component has completed. Its object may have been deleted since.
	Succeeded bool
	// Pods is the sum of its pod sets.
	Pods int32
}

func (c Component) done() bool { return c.Succeeded || c.Report.State == health.Complete }

// wanted returns how many pods the component should have now.
func (c Component) wanted() int32 {
	switch {
	case c.done():
		return 0
	case c.Report.Pods != nil:
		return min(c.Pods, *c.Report.Pods)
	}
	return c.Pods
}

// wantedActive returns how many pods the component still has to run at the same time, or 0 if its kind does not report this.
func (c Component) wantedActive() int32 {
	if c.Report.Active == nil || c.done() {
		return 0
	}
	return min(c.Pods, *c.Report.Active)
}

// Remains is an object or pod that has not been deleted yet.
type Remains struct {
	Name string // kind and name, for messages
	Pod  bool
	// Blocked is what prevents the deletion, if known: finalizers, or missing permissions of the controller.
	Blocked string
}

// Evacuation describes why a workload must leave nodes.
type Evacuation struct {
	Nodes   []string
	Message string
	// Held is why the evacuation must wait; empty if it does not.
	Held string
}

// ReadClocks returns the clocks from a status. If the status has none, because the upstream controller wrote it or the upstream CRD drops
// the field, the clocks are derived from the transition times of the conditions.
func ReadClocks(status *v1beta2.AppWrapperStatus) v1beta2.Clocks {
	if status.Clocks != nil {
		return *status.Clocks
	}
	since := func(kind v1beta2.AppWrapperCondition, to metav1.ConditionStatus) metav1.MicroTime {
		c := meta.FindStatusCondition(status.Conditions, string(kind))
		if c == nil || c.Status != to {
			return metav1.MicroTime{}
		}
		return metav1.NewMicroTime(c.LastTransitionTime.Time)
	}
	clocks := v1beta2.Clocks{
		AttemptStart:   since(v1beta2.ResourcesDeployed, metav1.ConditionTrue),
		UnhealthySince: since(v1beta2.Unhealthy, metav1.ConditionTrue),
		DeletionStart:  since(v1beta2.DeletingResources, metav1.ConditionTrue),
		DeletionEnd:    since(v1beta2.ResourcesDeployed, metav1.ConditionFalse),
	}
	switch status.Phase {
	case v1beta2.Succeeded: // the quota was released at that moment
		clocks.Finished = since(v1beta2.QuotaReserved, metav1.ConditionFalse)
	case v1beta2.Failed: // the workload became unhealthy at that moment
		clocks.Finished = clocks.UnhealthySince
	}
	return clocks
}
