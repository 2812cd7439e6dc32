package appwrapper

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/appwrapper-controller/api/v1beta2"
	"github.com/holdfast-project/holdfast/appwrapper-controller/internal/podset"
	"github.com/holdfast-project/holdfast/appwrapper-controller/internal/policy"
	"github.com/holdfast-project/holdfast/appwrapper-controller/internal/settings"
	"github.com/holdfast-project/holdfast/shared/notes"
	"github.com/holdfast-project/holdfast/shared/recovering"
)

func (r *Reconciler) writeStatus(ctx context.Context, s *scope, d *policy.Decision) error {
	before := s.aw.Status.Phase
	s.record(d)
	if err := r.patchStatus(ctx, s); err != nil {
		return err
	}
	r.reportChanges(s, d, before)
	return r.writeRecovering(ctx, s)
}

func (r *Reconciler) patchStatus(ctx context.Context, s *scope) error {
	if equality.Semantic.DeepEqual(s.aw.Status, *s.status) {
		return nil
	}
	next := s.aw.DeepCopy()
	next.Status = *s.status.DeepCopy()
	if err := r.Client.Status().Patch(ctx, next, client.MergeFromWithOptions(s.aw, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("writing the status: %w", err)
	}
	s.aw = next
	return nil
}

// record fills the next status from the decision. observe and the actions set the component statuses and the review.
func (s *scope) record(d *policy.Decision) {
	status := s.status
	status.Phase, status.Retries, status.Evacuations = d.Next, d.Retries, d.Evacuations
	status.Clocks = nil
	if d.Clocks != (v1beta2.Clocks{}) {
		status.Clocks = &d.Clocks
	}
	if s.facts.Unreviewed == "" {
		meta.RemoveStatusCondition(&status.Conditions, string(v1beta2.AccessReviewed))
	}
	for _, c := range d.Conditions {
		c.ObservedGeneration = s.aw.Generation
		meta.SetStatusCondition(&status.Conditions, c)
	}
	if d.Begins { // nothing is deployed, regardless of what an earlier controller recorded
		for i := range status.ComponentStatus {
			cs := &status.ComponentStatus[i]
			meta.RemoveStatusCondition(&cs.Conditions, string(v1beta2.ComponentSucceeded))
			if meta.IsStatusConditionTrue(cs.Conditions, string(v1beta2.ResourcesDeployed)) {
				setComponent(cs, v1beta2.ResourcesDeployed, false, v1beta2.ReasonComponentDeleted, "")
			}
		}
	}
	s.recordAttempt(d)
	meta.RemoveStatusCondition(&status.Conditions, recovering.Condition) // set by earlier builds
}

// initComponents creates the component statuses. If their number differs from the spec, they are replaced as soon as all of their objects
// are gone. Only the webhook prevents a change to the number of components.
func initComponents(status *v1beta2.AppWrapperStatus, aw *v1beta2.AppWrapper) {
	exists := func(cs v1beta2.AppWrapperComponentStatus) bool { return !isGone(cs) }
	if len(status.ComponentStatus) == len(aw.Spec.Components) || slices.ContainsFunc(status.ComponentStatus, exists) {
		return
	}
	status.ComponentStatus = make([]v1beta2.AppWrapperComponentStatus, len(aw.Spec.Components))
	for i := range aw.Spec.Components {
		sets, err := podset.Of(&aw.Spec.Components[i])
		if err != nil || sets == nil {
			sets = []v1beta2.AppWrapperPodSet{} // creating the components reports the error
		}
		status.ComponentStatus[i].PodSets = sets
	}
}

func setComponent(cs *v1beta2.AppWrapperComponentStatus, kind v1beta2.AppWrapperCondition, to bool, reason, message string) {
	meta.SetStatusCondition(&cs.Conditions, policy.Condition(kind, to, reason, message))
}

// Limits on the attempt history, as in the CRD.
const (
	maxAttempts = 16
	maxNodes    = 16
	maxReason   = 256
)

// attemptNumber returns the number of the current or last attempt.
func attemptNumber(status *v1beta2.AppWrapperStatus) int32 {
	if n := len(status.Attempts); n > 0 {
		return status.Attempts[n-1].Number
	}
	return status.Retries + status.Evacuations + 1
}

// recordAttempt updates the attempt history: it starts attempts, marks them ready and ends them. If the AppWrapper is suspended while it is
// being reset, recordAttempt adds an attempt that starts and ends at that moment.
func (s *scope) recordAttempt(d *policy.Decision) {
	now, attempts, number := metav1.NewTime(s.facts.Now), s.status.Attempts, attemptNumber(&s.aw.Status)
	n := len(attempts)
	resets := n > 0 && attempts[n-1].EndTime != nil
	switch {
	case d.Begins && n == 0:
		attempts = []v1beta2.Attempt{{Number: number, StartTime: now}}
	case d.Begins || resets && d.Next == v1beta2.Suspending && d.Ends != nil:
		attempts = append(attempts, v1beta2.Attempt{Number: number + 1, StartTime: now})
	case n == 0 && (d.BecameReady || d.Ends != nil): // started by the upstream controller
		attempts = []v1beta2.Attempt{{Number: number, StartTime: metav1.NewTime(s.facts.Clocks.AttemptStart.Time)}}
	case n == 0:
		return
	}
	s.status.Attempts = attempts[max(0, len(attempts)-maxAttempts):]
	last := &s.status.Attempts[len(s.status.Attempts)-1]
	if d.BecameReady && last.ReadyTime == nil {
		last.ReadyTime = &now
	}
	if d.Ends != nil && last.EndTime == nil {
		last.EndTime, last.Reason, last.Message = &now, d.Ends.Reason, notes.Truncate(d.Ends.Message, maxReason)
		last.Nodes, last.Evacuation = d.Ends.Nodes[:min(len(d.Ends.Nodes), maxNodes)], d.Ends.Evacuation
	}
}

// leftNodes returns the nodes that the workload was evacuated from within the given duration.
func leftNodes(status *v1beta2.AppWrapperStatus, within time.Duration, now time.Time) []string {
	var nodes []string
	for _, a := range status.Attempts {
		if a.Evacuation && a.EndTime != nil && now.Sub(a.EndTime.Time) < within {
			nodes = append(nodes, a.Nodes...)
		}
	}
	return nodes
}

// recoveringState returns the recovery that the AppWrapper announces while it is being reset, from the decision until all pods are
// running again, and nil otherwise. It depends only on the status, so every replica computes the same result.
func recoveringState(status *v1beta2.AppWrapperStatus, p settings.Parameters) *recovering.State {
	last := failedAttempt(status)
	if last == nil || last.EndTime == nil || last.Reason == string(v1beta2.Suspended) {
		return nil
	}
	timeout := p.ForcefulDeletionGracePeriod.Duration + p.RetryPausePeriod.Duration + p.AdmissionGracePeriod.Duration + p.WarmupGracePeriod.Duration
	return &recovering.State{
		Level: recovering.LevelReset, Reason: last.Reason + ": " + last.Message, Deadline: last.EndTime.Add(min(timeout, recovering.Maximum)),
	}
}

// failedAttempt returns the attempt from which the workload is recovering, or nil if it is not recovering.
func failedAttempt(status *v1beta2.AppWrapperStatus) *v1beta2.Attempt {
	n := len(status.Attempts)
	switch status.Phase {
	case v1beta2.Resetting:
		if n > 0 {
			return &status.Attempts[n-1]
		}
	case v1beta2.Resuming, v1beta2.Running:
		if n > 1 && status.Attempts[n-1].ReadyTime == nil {
			return &status.Attempts[n-2]
		}
	}
	return nil
}

// writeRecovering updates the recovering annotation to match the written status. Other recovery levels leave the workload alone until the
// annotation is removed or its deadline has passed.
func (r *Reconciler) writeRecovering(ctx context.Context, s *scope) error {
	reset := recoveringState(s.status, s.facts.Parameters)
	value, write := "", reset == nil && recovering.Release(s.aw.Annotations, recovering.LevelReset)
	if reset != nil {
		value, write = recovering.Place(s.aw.Annotations, *reset, s.facts.Now)
	}
	if !write || !s.aw.DeletionTimestamp.IsZero() {
		return nil
	}
	return r.patchMetadata(ctx, s, func(aw *v1beta2.AppWrapper) {
		if value == "" {
			delete(aw.Annotations, recovering.Annotation)
		} else {
			metav1.SetMetaDataAnnotation(&aw.ObjectMeta, recovering.Annotation, value)
		}
	})
}
