package read

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/holdfast-project/holdfast/shared/timeline"
)

// Workload is all that is known of one.
type Workload struct {
	// Objects from the root down, as they were read; at least one.
	Objects []*unstructured.Unstructured
	Pods    []corev1.Pod
	Events  []corev1.Event
	// Forbidden is what could not be read of it.
	Forbidden Forbidden
}

// Hidden is the right that one would need to know its pods, and has not. Empty: they are known.
func (w *Workload) Hidden() string {
	for _, resource := range []string{between[w.Root().GetKind()].resource, podsResource.Resource} {
		if right := "list " + resource; slices.Contains(w.Forbidden, right) {
			return right
		}
	}
	return ""
}

// Root is the object that nobody known owns.
func (w *Workload) Root() *unstructured.Unstructured { return w.Objects[0] }

// Name finds it again at once, from its root: KIND/NAME.
func (w *Workload) Name() string { return w.Root().GetKind() + "/" + w.Root().GetName() }

// Of the kind, nil if there is none.
func (w *Workload) Of(kind string) *unstructured.Unstructured {
	for _, o := range w.Objects {
		if o.GetKind() == kind {
			return o
		}
	}
	return nil
}

// Timeline is the workload as package timeline takes it.
func (w *Workload) Timeline() timeline.Workload {
	var t timeline.Workload
	for _, o := range w.Objects {
		t.Objects = append(t.Objects, decode(o))
	}
	for i := range w.Events {
		t.Events = append(t.Events, decodeEvent(&w.Events[i]))
	}
	return t
}

// concerns tells whether an event of one of the named objects is about this workload, and not about an earlier one whose root had the same
// name: that was another object, and all that happened to what it had was before this one was created. What a reset has removed was another
// object too, yet of this workload.
func (w *Workload) concerns(e *corev1.Event) bool {
	root := w.Root()
	if about := e.InvolvedObject; about.UID != "" && about.Kind == root.GetKind() && about.Name == root.GetName() {
		return about.UID == root.GetUID()
	}
	return !EventTime(e).Before(root.GetCreationTimestamp().Time)
}

// named are kind and name of all objects, also of those that a reset has removed: their events tell what happened to them.
func (w *Workload) named() [][2]string {
	var list [][2]string
	add := func(kind, name string) {
		if entry := [2]string{kind, name}; kind != "" && name != "" && !slices.Contains(list, entry) {
			list = append(list, entry)
		}
	}
	for _, o := range w.Objects {
		add(o.GetKind(), o.GetName())
	}
	if w.Root().GroupVersionKind().Group == appWrapperGroup {
		components, _, _ := unstructured.NestedSlice(w.Root().Object, "status", "componentStatus")
		for _, c := range components {
			if fields, ok := c.(map[string]any); ok {
				kind, _, _ := unstructured.NestedString(fields, "kind")
				name, _, _ := unstructured.NestedString(fields, "name")
				add(kind, name)
			}
		}
	}
	return list
}
