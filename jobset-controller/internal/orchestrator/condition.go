package orchestrator

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/group"
	"github.com/holdfast-project/holdfast/shared/recovering"
)

// ConditionInSync is True while all workers of the group have the same total restart count.
const ConditionInSync = "InPlaceInSync"

// ConditionRecovering is there, and True, while the annotation of package recovering is.
const ConditionRecovering = recovering.Condition

// reasonRefused: the JobSet asks for in-place restarts and cannot have them.
const reasonRefused = "NotPossible"

// reasonUnreachable: the store has not answered since the JobSet was created, or since its workers began to join.
const reasonUnreachable = "StoreUnreachable"

// reasons of ConditionInSync, by phase.
var reasons = map[coordination.Phase]string{
	coordination.Forming:    "WaitingForWorkers",
	coordination.Running:    "InSync",
	coordination.Restarting: "RestartingInPlace",
	coordination.Terminal:   "RestartsUsedUp",
	coordination.Recreating: "FailingOver",
	coordination.Closed:     "Suspended",
	coordination.Completed:  "Completed",
}

// conditionOf says what the group is doing. It changes with the phase and the count, and
// once more if a restart takes long, not with each worker that joins.
func conditionOf(g *group.Summary, generation int64) metav1.Condition {
	c := metav1.Condition{
		Type: ConditionInSync, Status: metav1.ConditionFalse, Reason: reasons[g.Phase], ObservedGeneration: generation,
	}
	where := fmt.Sprintf("total restart count %d of epoch %d", g.Round, g.Generation)
	switch g.Phase {
	case coordination.Running:
		c.Status = metav1.ConditionTrue
		c.Message = fmt.Sprintf("all %d workers have %s%s%s", g.Size, where, delayText(g), formingText(g))
	case coordination.Restarting:
		if g.Record.Cause.Kind == coordination.KindRecovery {
			c.Message = fmt.Sprintf("%s; %d workers join again with %s%s", causeText(g.Record.Cause), g.Size, where, formingText(g))
			break
		}
		c.Message = fmt.Sprintf("%s; restarting %d workers to %s%s", causeText(g.Record.Cause), g.Size, where, formingText(g))
	case coordination.Terminal, coordination.Recreating:
		c.Message = fmt.Sprintf("%s at %s", causeText(g.Record.Cause), where)
	case coordination.Completed:
		c.Message = fmt.Sprintf("all workers that are needed have finished with %s", where)
	default:
		c.Message = fmt.Sprintf("%d workers, %s", g.Size, where)
	}
	return c
}

// delayText says that workers wait before they start, which happens once in a round.
func delayText(g *group.Summary) string {
	delay := g.Level.Pause
	if delay == 0 {
		return ""
	}
	return fmt.Sprintf("; they waited %s before they started, because the restarts before ended within a minute", delay)
}

// formingText names what has not started yet beside what has: it is not waited for, and no restart stops it.
func formingText(g *group.Summary) string {
	var names []string
	for _, stage := range g.Stages {
		if !g.HasEntered(stage) && !g.HasLeft(stage) {
			names = append(names, stage.Prefix)
		}
	}
	switch n := len(names); {
	case n == 0:
		return ""
	case n > maxNamed:
		return fmt.Sprintf("; %s and %d more have still to start", strings.Join(names[:maxNamed], ", "), n-maxNamed)
	}
	return fmt.Sprintf("; %s still to start", strings.Join(names, ", "))
}

// maxNamed keeps a message readable.
const maxNamed = 5

// writeCondition applies the condition under the orchestrator's own field manager, so that the controller's conditions and
// ours never overwrite each other.
func (r *Reconciler) writeCondition(ctx context.Context, s *scope) error {
	old := meta.FindStatusCondition(s.js.Status.Conditions, ConditionInSync)
	if s.group == nil && s.refused == "" {
		if old == nil || s.wanted != nil {
			return nil
		}
		return r.applyConditions(ctx, s.js, nil)
	}
	next := s.conditions()
	if allWritten(s.js.Status.Conditions, next) {
		return nil
	}
	return r.applyConditions(ctx, s.js, next)
}

// conditions are those that the JobSet is to have of us. One that is left out is taken away.
func (s *scope) conditions() []metav1.Condition {
	inSync := s.inSync()
	list := []metav1.Condition{inSync}
	if reason, message := s.recoveringWhat(inSync); reason != "" {
		list = append(list, metav1.Condition{
			Type: ConditionRecovering, Status: metav1.ConditionTrue, Reason: reason, Message: message, ObservedGeneration: inSync.ObservedGeneration,
		})
	}
	for i := range list {
		list[i].LastTransitionTime = metav1.NewTime(s.now)
		if old := meta.FindStatusCondition(s.js.Status.Conditions, list[i].Type); old != nil && old.Status == list[i].Status {
			list[i].LastTransitionTime = old.LastTransitionTime
		}
	}
	return list
}

// recoveringWhat is what the condition says beside the annotation, on either of our rungs; nothing while there is none.
func (s *scope) recoveringWhat(inSync metav1.Condition) (reason, message string) {
	if s.group != nil && s.group.Phase == coordination.Restarting {
		return inSync.Reason, inSync.Message
	}
	if state, found := recovering.Of(s.js.Annotations); found && state.Rung == recovering.RungRecreate {
		return reasons[coordination.Recreating], state.Reason
	}
	return "", ""
}

func (s *scope) inSync() metav1.Condition {
	if s.group != nil {
		c := conditionOf(s.group, s.js.Generation)
		c.Message += s.late
		if s.forming != "" && s.group.Phase == coordination.Forming {
			c.Message = s.forming
		} else if s.forming != "" {
			c.Message += "; " + s.forming
		}
		return c
	}
	return metav1.Condition{
		Type: ConditionInSync, Status: metav1.ConditionFalse, Reason: reasonRefused, Message: s.refused,
		ObservedGeneration: s.js.Generation,
	}
}

// allWritten tells whether the JobSet has these conditions, and no other of ours.
func allWritten(have, want []metav1.Condition) bool {
	for _, kind := range []string{ConditionInSync, ConditionRecovering} {
		a, b := meta.FindStatusCondition(have, kind), meta.FindStatusCondition(want, kind)
		if (a == nil) != (b == nil) || (a != nil && !sameCondition(*a, *b)) {
			return false
		}
	}
	return true
}

func sameCondition(a, b metav1.Condition) bool {
	return a.Status == b.Status && a.Reason == b.Reason && a.Message == b.Message && a.ObservedGeneration == b.ObservedGeneration
}

func (r *Reconciler) applyConditions(ctx context.Context, js *v1alpha2.JobSet, conditions []metav1.Condition) error {
	list := []any{} // without any it is empty, not null, which the API server refuses
	for i := range conditions {
		c, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&conditions[i])
		if err != nil {
			return fmt.Errorf("encoding a condition: %w", err)
		}
		list = append(list, c)
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
