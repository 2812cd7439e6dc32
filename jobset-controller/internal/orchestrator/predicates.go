package orchestrator

import (
	"maps"

	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
)

// jobSetChanged lets through what a group depends on: spec, annotations, deletion, the end. Counters in the status are
// none of it.
func jobSetChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, okBefore := e.ObjectOld.(*v1alpha2.JobSet)
		after, okAfter := e.ObjectNew.(*v1alpha2.JobSet)
		return !okBefore || !okAfter ||
			before.Generation != after.Generation ||
			before.Status.TerminalState != after.Status.TerminalState ||
			before.DeletionTimestamp.IsZero() != after.DeletionTimestamp.IsZero() ||
			!maps.Equal(before.Annotations, after.Annotations)
	}}
}

// jobComesOrGoes lets through what matters after a fail-over.
func jobComesOrGoes() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(event.UpdateEvent) bool { return false }}
}
