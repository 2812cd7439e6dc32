package read

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
)

// fewObjects is the number of objects up to which their events are listed one by one.
const fewObjects = 5

// workloadEvents adds the events about the objects of the workload, in the order of the objects.
func (r Reader) workloadEvents(ctx context.Context, w *Workload) error {
	namespace, objects := w.Root().GetNamespace(), w.objectNames()
	about := map[[2]string][]corev1.Event{} // by the kind and name of the object
	if len(objects) > fewObjects {
		events, err := r.events(ctx, &w.Forbidden, namespace, "", "")
		if err != nil {
			return err
		}
		for i := range events {
			key := [2]string{events[i].InvolvedObject.Kind, events[i].InvolvedObject.Name}
			about[key] = append(about[key], events[i])
		}
	}
	for _, o := range objects {
		events := about[o]
		if len(objects) <= fewObjects {
			var err error
			if events, err = r.events(ctx, &w.Forbidden, namespace, o[0], o[1]); err != nil {
				return err
			}
		}
		for i := range events {
			if w.concerns(&events[i]) {
				w.Events = append(w.Events, events[i])
			}
		}
	}
	return nil
}

// events returns the events about an object, or all events of the namespace if kind and name are empty.
func (r Reader) events(ctx context.Context, refused *Forbidden, namespace, kind, name string) ([]corev1.Event, error) {
	var options metav1.ListOptions
	if name != "" {
		options.FieldSelector = fields.Set{"involvedObject.kind": kind, "involvedObject.name": name}.String()
	}
	list, err := r.list(ctx, refused, eventsResource, namespace, options)
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
