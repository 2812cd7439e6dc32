package orchestrator

import (
	"context"
	"fmt"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/orchestrator/owners"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/provenance"
	"github.com/holdfast-project/holdfast/shared/coordination/leader"
	"github.com/holdfast-project/holdfast/shared/notes"
)

// FieldManager is the field manager of the annotations and conditions that the orchestrator writes.
const FieldManager = "holdfast-orchestrator"

// annotated updates annotations of an owner in one compare-and-set, and returns the updated owner. An empty value
// removes the annotation.
func annotated(ctx context.Context, c client.Client, owner client.Object, values map[string]string) (client.Object, error) {
	next := owners.WithAnnotations(owner, values)
	provenance.Stamp(owner, next.GetAnnotations())
	if err := patch(ctx, c, owner, next); err != nil {
		return owner, fmt.Errorf("annotating the %s: %w", owners.KindOf(owner).Kind, err)
	}
	return next, nil
}

// patch writes the changes to an object in one compare-and-set.
func patch(ctx context.Context, c client.Client, before, next client.Object) error {
	return c.Patch(ctx, next, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}), client.FieldOwner(FieldManager))
}

func patchStatus(ctx context.Context, c client.Client, before, next client.Object) error {
	return c.Status().Patch(ctx, next, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}), client.FieldOwner(FieldManager))
}

// short limits the length of an event note or a message. Names in the store may be longer than those that the
// orchestrator wrote.
func short(text string) string {
	if len(text) <= notes.MaxLength {
		return text
	}
	return notes.Truncate(text, notes.MaxLength-len(dots)) + dots
}

const dots = "..."

var ownConditions = []string{ConditionInSync, ConditionRecovering}

// writeConditions writes the conditions of an owner, and removes those that are not set. For server-side apply, the
// list of a Job's conditions is a single value, so individual conditions cannot be applied; instead, the resource
// version is a precondition of the write. Kubelets preserve pod conditions that they do not know.
func writeConditions(ctx context.Context, c client.Client, owner client.Object, set leader.SetConditions, now time.Time) (err error) {
	list := conditionsFor(jobSetOf(owner), set, now)
	next := owners.Copy(owner)
	switch o := next.(type) {
	case *batchv1.Job:
		o.Status.Conditions = slices.DeleteFunc(o.Status.Conditions, func(c batchv1.JobCondition) bool { return slices.Contains(ownConditions, string(c.Type)) })
		for _, is := range list {
			o.Status.Conditions = append(o.Status.Conditions, batchv1.JobCondition{
				Type: batchv1.JobConditionType(is.Type), Status: corev1.ConditionStatus(is.Status), Reason: is.Reason, Message: is.Message,
				LastTransitionTime: is.LastTransitionTime, LastProbeTime: metav1.NewTime(now),
			})
		}
		err = patchStatus(ctx, c, owner, next)
	case *corev1.Pod:
		o.Status.Conditions = slices.DeleteFunc(o.Status.Conditions, func(c corev1.PodCondition) bool { return slices.Contains(ownConditions, string(c.Type)) })
		for _, is := range list {
			o.Status.Conditions = append(o.Status.Conditions, corev1.PodCondition{
				Type: corev1.PodConditionType(is.Type), Status: corev1.ConditionStatus(is.Status), Reason: is.Reason, Message: is.Message,
				LastTransitionTime: is.LastTransitionTime, ObservedGeneration: is.ObservedGeneration,
			})
		}
		err = patchStatus(ctx, c, owner, next)
	default:
		err = applyConditions(ctx, c, owner, list)
	}
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("writing condition %s: %w", ConditionInSync, err)
	}
	return nil
}

// applyConditions applies the conditions with the orchestrator's own field manager, so that they and the controller's
// conditions never overwrite each other.
func applyConditions(ctx context.Context, c client.Client, js client.Object, conditions []metav1.Condition) error {
	list := []any{} // an empty list must not be null, which the API server rejects
	for _, one := range conditions {
		plain, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&one)
		if err != nil {
			return fmt.Errorf("encoding a condition: %w", err)
		}
		list = append(list, plain)
	}
	obj := &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"name": js.GetName(), "namespace": js.GetNamespace(), "uid": string(js.GetUID())},
		"status":   map[string]any{"conditions": list},
	}}
	obj.SetGroupVersionKind(owners.JobSet)
	return c.Status().Apply(ctx, client.ApplyConfigurationFromUnstructured(obj), client.FieldOwner(FieldManager), client.ForceOwnership)
}

// conditionsFor returns the conditions that are set. They keep the time of the last transition if the status is
// unchanged.
func conditionsFor(js *v1alpha2.JobSet, set leader.SetConditions, now time.Time) (list []metav1.Condition) {
	for i, c := range []*leader.Condition{set.InSync, set.Recovering} {
		if c == nil {
			continue
		}
		next := metav1.Condition{
			Type: ownConditions[i], Status: metav1.ConditionFalse, Reason: c.Reason, Message: c.Message, ObservedGeneration: c.Version, LastTransitionTime: metav1.NewTime(now),
		}
		if c.True {
			next.Status = metav1.ConditionTrue
		}
		all := slices.Clone(js.Status.Conditions)
		meta.SetStatusCondition(&all, next)
		list = append(list, *meta.FindStatusCondition(all, next.Type))
	}
	return list
}
