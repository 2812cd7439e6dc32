package appwrapper

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/appwrapper-controller/api/v1beta2"
	"github.com/holdfast-project/holdfast/appwrapper-controller/internal/settings"
	"github.com/holdfast-project/holdfast/shared/recovering"
)

// resetting is what the AppWrapper says of itself while it is reset, from the decision until all pods run again; nil at all other
// times. It follows from what is written down, so that it is the same whoever looks.
func resetting(status *v1beta2.AppWrapperStatus, p settings.Parameters) *recovering.State {
	last := endedBefore(status)
	if last == nil || last.EndTime == nil || last.Reason == string(v1beta2.Suspended) {
		return nil
	}
	takes := p.ForcefulDeletionGracePeriod + p.RetryPausePeriod + p.AdmissionGracePeriod + p.WarmupGracePeriod
	return &recovering.State{
		Rung: rung, Reason: last.Reason + ": " + last.Message, Deadline: last.EndTime.Add(min(takes, recovering.Maximum)),
	}
}

// endedBefore is the attempt whose failure is being made good; nil if none is.
func endedBefore(status *v1beta2.AppWrapperStatus) *v1beta2.Attempt {
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

// mark brings the annotation up to date with the status that was written. A program on another rung leaves the workload alone while
// it is there; its deadline bounds that if nobody is left to take it away.
func (r *Reconciler) mark(ctx context.Context, s *scope) error {
	reset := resetting(s.status, s.facts.Parameters)
	value, write := "", reset == nil && recovering.Release(s.aw.Annotations, rung)
	if reset != nil {
		value, write = recovering.Place(s.aw.Annotations, *reset, s.facts.Now)
	}
	if !write || !s.aw.DeletionTimestamp.IsZero() {
		return nil
	}
	next := s.aw.DeepCopy()
	if value == "" {
		delete(next.Annotations, recovering.Annotation)
	} else {
		metav1.SetMetaDataAnnotation(&next.ObjectMeta, recovering.Annotation, value)
	}
	if err := r.client.Patch(ctx, next, client.MergeFromWithOptions(s.aw, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("saying that the AppWrapper is reset: %w", err)
	}
	s.aw = next
	return nil
}
