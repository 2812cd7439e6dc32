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

// Facts are all that a decision rests on.
type Facts struct {
	Now time.Time

	// What was asked for.
	Suspend, Deleted bool
	Parameters       settings.Parameters
	// EvacuationLimit of the operator; nil is none.
	EvacuationLimit *restart.Budget

	// What was written down before.
	Phase     v1beta2.AppWrapperPhase
	Finalizer bool // ours
	// Unreviewed is why the components may not be created; empty if they may.
	Unreviewed string
	// Deployed: the condition ResourcesDeployed is True.
	Deployed bool
	// Ready: the condition PodsReady is True.
	Ready                bool
	Retries, Evacuations int32
	Clocks               Clocks
	// ReadyFor is how long all pods have run in this attempt; 0 if they do not.
	ReadyFor time.Duration

	// What is there.
	Components []Component
	Pods       pods.Summary
	// Remains of what is being removed; nil unless something is.
	Remains []Remains
	// Recovering is until when a component says that its own controller is recovering it; zero if none does.
	Recovering time.Time
	// Evacuation of bad nodes that is due; nil if there is none.
	Evacuation *Evacuation
}

// Presence of an object.
type Presence int

const (
	// Absent: nobody has it, or its kind.
	Absent Presence = iota
	// Present and not being deleted.
	Present
	// Terminating: it is being deleted.
	Terminating
	// Unreadable: the controller is not allowed to look.
	Unreadable
)

// Component is one wrapped object.
type Component struct {
	Name string // kind and name, for people
	// Created: it was created in this attempt.
	Created  bool
	Presence Presence
	Report   health.Report
	// Finishes: the kind itself says when the work is done.
	Finishes bool
	// Succeeded: it has said so before, and may be gone.
	Succeeded bool
	// Pods is the sum of its pod sets.
	Pods int32
}

// done tells whether the component's work is.
func (c Component) done() bool { return c.Succeeded || c.Report.State == health.Complete }

// wanted is how many of its pods should be there at this moment.
func (c Component) wanted() int32 {
	switch {
	case c.done():
		return 0
	case c.Report.Pods != nil:
		return min(c.Pods, *c.Report.Pods)
	}
	return c.Pods
}

// Remains is an object or pod that is not gone yet.
type Remains struct {
	Name string // kind and name, for people
	Pod  bool
	// Blocked says what keeps it, if that is known: finalizers, or that the controller is not allowed to delete it.
	Blocked string
}

// Evacuation is why a workload has to leave nodes.
type Evacuation struct {
	Nodes   []string
	Message string
	// Held says why it has to wait; empty if it has not.
	Held string
	// Retry is when to ask again, if it is held.
	Retry time.Duration
}

// Clocks are the times from which grace periods count; zero if one has not begun.
type Clocks struct {
	AttemptStart, NotReadySince, UnhealthySince, DeletionStart, DeletionEnd, Finished time.Time
}

// ReadClocks takes the clocks from a status. Where there are none, because the published controller wrote the status, or because its
// definition is installed and drops them, the conditions that were written at the time stand in.
func ReadClocks(status *v1beta2.AppWrapperStatus) Clocks {
	if c := status.Clocks; c != nil {
		return Clocks{
			AttemptStart: at(c.AttemptStart), NotReadySince: at(c.NotReadySince), UnhealthySince: at(c.UnhealthySince),
			DeletionStart: at(c.DeletionStart), DeletionEnd: at(c.DeletionEnd), Finished: at(c.Finished),
		}
	}
	since := func(kind v1beta2.AppWrapperCondition, to metav1.ConditionStatus) time.Time {
		c := meta.FindStatusCondition(status.Conditions, string(kind))
		if c == nil || c.Status != to {
			return time.Time{}
		}
		return c.LastTransitionTime.Time
	}
	clocks := Clocks{
		AttemptStart:   since(v1beta2.ResourcesDeployed, metav1.ConditionTrue),
		UnhealthySince: since(v1beta2.Unhealthy, metav1.ConditionTrue),
		DeletionStart:  since(v1beta2.DeletingResources, metav1.ConditionTrue),
		DeletionEnd:    since(v1beta2.ResourcesDeployed, metav1.ConditionFalse),
	}
	switch status.Phase {
	case v1beta2.Succeeded: // the quota was given back at that moment
		clocks.Finished = since(v1beta2.QuotaReserved, metav1.ConditionFalse)
	case v1beta2.Failed: // what it failed of
		clocks.Finished = clocks.UnhealthySince
	}
	return clocks
}

// Write is what ReadClocks reads.
func (c Clocks) Write() *v1beta2.Clocks {
	if c == (Clocks{}) {
		return nil
	}
	return &v1beta2.Clocks{
		AttemptStart: micro(c.AttemptStart), NotReadySince: micro(c.NotReadySince), UnhealthySince: micro(c.UnhealthySince),
		DeletionStart: micro(c.DeletionStart), DeletionEnd: micro(c.DeletionEnd), Finished: micro(c.Finished),
	}
}

func at(t *metav1.MicroTime) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.Time
}

func micro(t time.Time) *metav1.MicroTime {
	if t.IsZero() {
		return nil
	}
	return &metav1.MicroTime{Time: t}
}
