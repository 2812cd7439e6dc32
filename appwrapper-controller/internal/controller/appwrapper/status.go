package appwrapper

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/appwrapper-controller/api/v1beta2"
	"github.com/holdfast-project/holdfast/appwrapper-controller/internal/podset"
	"github.com/holdfast-project/holdfast/appwrapper-controller/internal/policy"
	"github.com/holdfast-project/holdfast/shared/recovering"
)

// writeStatus writes the decision down if it changes anything, and then says so.
func (r *Reconciler) writeStatus(ctx context.Context, s *scope, d *policy.Decision) error {
	if d.Do == policy.Release || d.Do == policy.DeleteObject {
		return nil // the object may be gone
	}
	before := s.aw.Status.Phase
	s.record(d)
	if err := r.patchStatus(ctx, s.aw, s.status); err != nil {
		return err
	}
	r.followUp(s, d, before)
	return nil
}

// patchStatus sends what has changed, onto the version that was observed.
func (r *Reconciler) patchStatus(ctx context.Context, aw *v1beta2.AppWrapper, status *v1beta2.AppWrapperStatus) error {
	if equality.Semantic.DeepEqual(aw.Status, *status) {
		return nil
	}
	before := aw.DeepCopy()
	aw.Status = *status.DeepCopy()
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := r.client.Status().Patch(ctx, aw, patch); err != nil {
		aw.Status = before.Status
		return fmt.Errorf("writing the status: %w", err)
	}
	return nil
}

// record is the one place where the status comes from, but for the components.
func (s *scope) record(d *policy.Decision) {
	status := s.status
	status.Phase, status.Retries, status.Evacuations = d.Next, d.Retries, d.Evacuations
	status.Clocks = d.Clocks.Write()
	if s.facts.Unreviewed == "" {
		meta.RemoveStatusCondition(&status.Conditions, string(v1beta2.AccessReviewed))
	}
	for _, c := range d.Conditions {
		meta.SetStatusCondition(&status.Conditions, metav1.Condition{
			Type: string(c.Type), Status: c.Status, Reason: c.Reason, Message: c.Message, ObservedGeneration: s.aw.Generation,
		})
	}
	if d.Begins { // nothing is deployed, whatever a controller of before left here
		for i := range status.ComponentStatus {
			entry := &status.ComponentStatus[i]
			meta.RemoveStatusCondition(&entry.Conditions, string(v1beta2.ComponentSucceeded))
			if meta.IsStatusConditionTrue(entry.Conditions, string(v1beta2.ResourcesDeployed)) {
				setComponent(entry, v1beta2.ResourcesDeployed, false, v1beta2.ReasonComponentDeleted, "")
			}
		}
	}
	s.recordAttempt(d)
	meta.RemoveStatusCondition(&status.Conditions, recovering.Condition) // of an earlier build: the annotation and the attempts say it
}

// initComponents makes an entry for each component. Entries that do not fit, since somebody else made them, are made anew.
func initComponents(status *v1beta2.AppWrapperStatus, aw *v1beta2.AppWrapper) {
	if len(status.ComponentStatus) == len(aw.Spec.Components) {
		return
	}
	status.ComponentStatus = make([]v1beta2.AppWrapperComponentStatus, len(aw.Spec.Components))
	for i := range aw.Spec.Components {
		sets, err := podset.Of(&aw.Spec.Components[i])
		if err != nil || sets == nil {
			sets = []v1beta2.AppWrapperPodSet{} // its creation will say what is wrong
		}
		status.ComponentStatus[i].PodSets = sets
	}
}

func setComponent(entry *v1beta2.AppWrapperComponentStatus, kind v1beta2.AppWrapperCondition, to bool, reason, message string) {
	status := metav1.ConditionFalse
	if to {
		status = metav1.ConditionTrue
	}
	meta.SetStatusCondition(&entry.Conditions, metav1.Condition{Type: string(kind), Status: status, Reason: reason, Message: message})
}
