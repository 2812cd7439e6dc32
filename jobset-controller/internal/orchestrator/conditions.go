package orchestrator

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/shared/coordination/leader"
)

// nameUnreachable says of a JobSet whose group has never formed that the store is unreachable. Workers that run on are told nothing.
func (r *Reconciler) nameUnreachable(ctx context.Context, owner client.Object, cause error) error {
	js, is := owner.(*v1alpha2.JobSet)
	if !is || !r.Kind.Asks(js) || ptr.Deref(js.Spec.Suspend, false) {
		return nil
	}
	old := conditionOf(js, ConditionInSync)
	if old != nil && old.Reason != leader.ReasonForming && old.Reason != leader.ReasonUnreachable {
		return nil
	}
	c := leader.Condition{Reason: leader.ReasonUnreachable, Message: "workers cannot join: " + short(cause.Error()), Version: js.Generation}
	if old != nil && *old == c {
		return nil
	}
	return r.applyConditions(ctx, js, leader.SetConditions{InSync: &c})
}

// applyConditions applies conditions under the orchestrator's own field manager, so that the controller's conditions and
// ours never overwrite each other. One that is left out is taken away.
func (r *Reconciler) applyConditions(ctx context.Context, js *v1alpha2.JobSet, set leader.SetConditions) error {
	list := []any{} // without any it is empty, not null, which the API server refuses
	for kind, c := range map[string]*leader.Condition{ConditionInSync: set.InSync, ConditionRecovering: set.Recovering} {
		if c == nil {
			continue
		}
		one, err := runtime.DefaultUnstructuredConverter.ToUnstructured(r.conditionFor(js, kind, c))
		if err != nil {
			return fmt.Errorf("encoding a condition: %w", err)
		}
		list = append(list, one)
	}
	obj := &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"name": js.Name, "namespace": js.Namespace, "uid": string(js.UID)},
		"status":   map[string]any{"conditions": list},
	}}
	obj.SetGroupVersionKind(v1alpha2.GroupVersion.WithKind("JobSet"))
	err := r.Client.Status().Apply(ctx, client.ApplyConfigurationFromUnstructured(obj),
		client.FieldOwner(FieldManager), client.ForceOwnership)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("writing condition %s: %w", ConditionInSync, err)
	}
	return nil
}

// conditionFor keeps the time of the last transition as long as the status stays.
func (r *Reconciler) conditionFor(js *v1alpha2.JobSet, kind string, c *leader.Condition) *metav1.Condition {
	status := metav1.ConditionFalse
	if c.True {
		status = metav1.ConditionTrue
	}
	next := &metav1.Condition{
		Type: kind, Status: status, Reason: c.Reason, Message: c.Message, ObservedGeneration: c.Version, LastTransitionTime: metav1.NewTime(r.Clock.Now()),
	}
	if old := meta.FindStatusCondition(js.Status.Conditions, kind); old != nil && old.Status == status {
		next.LastTransitionTime = old.LastTransitionTime
	}
	return next
}
