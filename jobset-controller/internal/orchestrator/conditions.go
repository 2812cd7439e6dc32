package orchestrator

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/shared/coordination/leader"
)

// applyConditions applies conditions under the orchestrator's own field manager, so that the controller's conditions and
// ours never overwrite each other. One that is left out is removed.
func applyConditions(ctx context.Context, c client.Client, js *v1alpha2.JobSet, set leader.SetConditions, now time.Time) error {
	list := []any{} // without any it is empty, not null, which the API server refuses
	for kind, one := range map[string]*leader.Condition{ConditionInSync: set.InSync, ConditionRecovering: set.Recovering} {
		if one == nil {
			continue
		}
		plain, err := runtime.DefaultUnstructuredConverter.ToUnstructured(conditionFor(js, kind, one, now))
		if err != nil {
			return fmt.Errorf("encoding a condition: %w", err)
		}
		list = append(list, plain)
	}
	obj := &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"name": js.Name, "namespace": js.Namespace, "uid": string(js.UID)},
		"status":   map[string]any{"conditions": list},
	}}
	obj.SetGroupVersionKind(v1alpha2.GroupVersion.WithKind("JobSet"))
	err := c.Status().Apply(ctx, client.ApplyConfigurationFromUnstructured(obj),
		client.FieldOwner(FieldManager), client.ForceOwnership)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("writing condition %s: %w", ConditionInSync, err)
	}
	return nil
}

// conditionFor keeps the time of the last transition as long as the status stays.
func conditionFor(js *v1alpha2.JobSet, kind string, c *leader.Condition, now time.Time) *metav1.Condition {
	status := metav1.ConditionFalse
	if c.True {
		status = metav1.ConditionTrue
	}
	next := &metav1.Condition{
		Type: kind, Status: status, Reason: c.Reason, Message: c.Message, ObservedGeneration: c.Version, LastTransitionTime: metav1.NewTime(now),
	}
	if old := meta.FindStatusCondition(js.Status.Conditions, kind); old != nil && old.Status == status {
		next.LastTransitionTime = old.LastTransitionTime
	}
	return next
}
