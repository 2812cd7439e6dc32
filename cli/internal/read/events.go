package read

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
)

// workloadEvents adds the events about the objects of the workload, in the order of the objects. It reads events about
// pods, which make up most events in a namespace, only if one of the objects is a pod.
func (r Reader) workloadEvents(ctx context.Context, w *Workload) error {
	objects := w.objectNames()
	selector := fields.OneTermNotEqualSelector(involvedKind, podKind.Kind)
	if slices.ContainsFunc(objects, func(o [2]string) bool { return o[0] == podKind.Kind }) {
		selector = fields.Everything()
	}
	events, err := r.events(ctx, &w.Forbidden, w.Root().GetNamespace(), selector)
	for _, o := range objects {
		for i := range events {
			if about := events[i].InvolvedObject; about.Kind == o[0] && about.Name == o[1] && w.concerns(&events[i]) {
				w.Events = append(w.Events, events[i])
			}
		}
	}
	return err
}

const (
	involvedKind = "involvedObject.kind"
	involvedName = "involvedObject.name"
)

func (r Reader) events(ctx context.Context, refused *Forbidden, namespace string, selector fields.Selector) ([]corev1.Event, error) {
	list, err := r.list(ctx, refused, eventsResource, namespace, metav1.ListOptions{FieldSelector: selector.String()})
	if err != nil {
		return nil, err
	}
	var events []corev1.Event
	for i := range list {
		var e corev1.Event
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(list[i].Object, &e); err != nil {
			return nil, fmt.Errorf("reading an event: %w", err)
		}
		events = append(events, e)
	}
	return events, nil
}

// EventTime returns the most precise time of an event's first occurrence.
func EventTime(e *corev1.Event) time.Time {
	switch {
	case !e.EventTime.IsZero():
		return e.EventTime.Time
	case !e.FirstTimestamp.IsZero():
		return e.FirstTimestamp.Time
	}
	return e.CreationTimestamp.Time
}

// LastTime returns the time of an event's last occurrence.
func LastTime(e *corev1.Event) time.Time {
	last := EventTime(e)
	if e.LastTimestamp.After(last) {
		last = e.LastTimestamp.Time
	}
	if e.Series != nil && e.Series.LastObservedTime.After(last) {
		last = e.Series.LastObservedTime.Time
	}
	return last
}
