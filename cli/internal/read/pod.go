package read

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Pod is a pod with its owners, from its controller up to the root, and the events about it and about earlier pods of
// the same name in its workload.
type Pod struct {
	corev1.Pod
	Owners []*unstructured.Unstructured
	// Missing is the reason why the next owner could not be read. It is empty if there is no further owner, or if the
	// user lacks permission to read it.
	Missing string
	Events  []corev1.Event
	// Forbidden lists missing permissions to read owners and events.
	Forbidden Forbidden
}

// Pod reads a pod. It fails with ErrNotFound or an error from the API server.
func (r Reader) Pod(ctx context.Context, namespace, name string) (*Pod, error) {
	object, err := r.Client.Resource(podsResource).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("%w: namespace %s has no pod %s", ErrNotFound, namespace, name)
	}
	if err != nil {
		return nil, fmt.Errorf("getting pod %s: %w", name, err)
	}
	p := &Pod{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &p.Pod); err != nil {
		return nil, fmt.Errorf("reading pod %s: %w", name, err)
	}
	follow := func(of schema.GroupKind) bool { return of != schema.GroupKind{Kind: "Node"} } // static pods do not belong to a workload
	if p.Owners, p.Missing, err = r.owners(ctx, object, &p.Forbidden, follow); err != nil {
		return nil, err
	}
	events, err := r.events(ctx, &p.Forbidden, namespace, fields.Set{involvedKind: podKind.Kind, involvedName: name}.AsSelector())
	p.Events = slices.DeleteFunc(events, func(e corev1.Event) bool { return !p.concerns(&e) })
	return p, err
}

// concerns reports whether an event is about this pod, or about an earlier pod of the same name in the same workload.
func (p *Pod) concerns(e *corev1.Event) bool {
	uid, since := e.InvolvedObject.UID, p.CreationTimestamp
	switch {
	case uid == p.UID:
		return true
	case len(p.Owners) > 0:
		since = p.Owners[len(p.Owners)-1].GetCreationTimestamp()
	case uid != "":
		return false
	}
	return !LastTime(e).Before(since.Time)
}
