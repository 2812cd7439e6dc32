package read

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/holdfast-project/holdfast/shared/timeline"
)

// ErrNotFound: no object of a known kind has the name.
var ErrNotFound = errors.New("not found")

// Reader reads.
type Reader struct {
	Client dynamic.Interface
	Mapper meta.RESTMapper
	// Cached: pods are read as the API server has them in memory, for those who look again and again. They may be some moments old.
	Cached bool
}

var (
	podsResource   = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	eventsResource = schema.GroupVersionResource{Version: "v1", Resource: "events"}
)

// page bounds one answer of the API server.
const page = 500

// Workload finds a workload by NAME or KIND/NAME, of any of its objects, and reads all of it. Where several kinds have an object of the
// name, the one nearest to the root is meant. Errors: ErrNotFound, ErrForbidden, and those of the API server.
func (r Reader) Workload(ctx context.Context, namespace, name string) (*Workload, error) {
	object, err := r.find(ctx, namespace, name)
	if err != nil {
		return nil, err
	}
	w := &Workload{}
	if object, err = r.root(ctx, object, &w.Forbidden); err != nil {
		return nil, err
	}
	w.Objects = []*unstructured.Unstructured{object}
	if err := r.below(ctx, w); err != nil {
		return nil, err
	}
	if w.Pods, err = r.pods(ctx, w); err != nil {
		return nil, err
	}
	for _, o := range w.named() {
		events, err := r.events(ctx, &w.Forbidden, w.Root().GetNamespace(), o[0], o[1])
		if err != nil {
			return nil, err
		}
		for i := range events {
			if w.concerns(&events[i]) {
				w.Events = append(w.Events, events[i])
			}
		}
	}
	return w, nil
}

func (r Reader) find(ctx context.Context, namespace, name string) (*unstructured.Unstructured, error) {
	wanted, bare, qualified := strings.Cut(name, "/")
	if !qualified {
		bare = name
	}
	kinds, err := served(r.Mapper, allKinds())
	if err != nil {
		return nil, err
	}
	var none, refused []string
	for _, k := range kinds {
		if qualified && !strings.EqualFold(wanted, k.Kind) && !strings.EqualFold(wanted, k.resource) {
			continue
		}
		object, err := r.Client.Resource(k.gvr()).Namespace(namespace).Get(ctx, bare, metav1.GetOptions{})
		switch {
		case err == nil:
			return object, nil
		case apierrors.IsNotFound(err):
			none = append(none, k.Kind)
		case apierrors.IsForbidden(err):
			refused = append(refused, k.Kind)
		default:
			return nil, fmt.Errorf("getting %s %s: %w", k.Kind, bare, err)
		}
	}
	return nil, notFound(namespace, wanted, bare, none, refused)
}

// notFound says that none of the kinds has the name, and of which kinds one has no right to know.
func notFound(namespace, kind, name string, none, refused []string) error {
	switch {
	case len(none) == 0 && len(refused) == 0:
		return fmt.Errorf("%w: the cluster has no kind %q that this program knows", ErrNotFound, kind)
	case len(refused) == 0:
		return fmt.Errorf("%w: namespace %s has no %s of the name %s", ErrNotFound, namespace, strings.Join(none, ", "), name)
	case len(none) == 0:
		return fmt.Errorf("%w to get %s in namespace %s", ErrForbidden, strings.Join(refused, ", "), namespace)
	}
	return fmt.Errorf("%w to get %s in namespace %s, which has no %s of the name %s",
		ErrForbidden, strings.Join(refused, ", "), namespace, strings.Join(none, ", "), name)
}

// root goes up by controller references, as far as the kinds are known. UIDs decide.
func (r Reader) root(ctx context.Context, object *unstructured.Unstructured, refused *Forbidden) (*unstructured.Unstructured, error) {
	for {
		owner, err := r.owner(ctx, object, refused)
		if err != nil || owner == nil {
			return object, err
		}
		object = owner
	}
}

func (r Reader) owner(ctx context.Context, o metav1.Object, refused *Forbidden) (*unstructured.Unstructured, error) {
	ref := metav1.GetControllerOf(o)
	if ref == nil {
		return nil, nil
	}
	i := slices.IndexFunc(allKinds(), func(k kind) bool { return k.Kind == ref.Kind && strings.HasPrefix(ref.APIVersion, k.Group+"/") })
	if i < 0 {
		return nil, nil
	}
	gvr := allKinds()[i].gvr()
	owner, err := r.Client.Resource(gvr).Namespace(o.GetNamespace()).Get(ctx, ref.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err) || refused.noted(err, "get", gvr.Resource):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("getting %s %s: %w", ref.Kind, ref.Name, err)
	case owner.GetUID() != ref.UID:
		return nil, nil
	}
	return owner, nil
}

// below adds what the root owns, of the kinds with a history of their own.
func (r Reader) below(ctx context.Context, w *Workload) error {
	root := w.Root()
	if root.GroupVersionKind().Group != appWrapperGroup {
		return nil
	}
	kinds, err := served(r.Mapper, training[1:])
	if err != nil {
		return err
	}
	for _, k := range kinds {
		list, err := r.permitted(ctx, &w.Forbidden, k.gvr(), root.GetNamespace(), metav1.ListOptions{})
		if err != nil {
			return err
		}
		for i := range list {
			if ref := metav1.GetControllerOf(&list[i]); ref != nil && ref.UID == root.GetUID() {
				w.Objects = append(w.Objects, &list[i])
			}
		}
	}
	return nil
}

// permitted lists as `list` does. What one has no right to is noted, and is none.
func (r Reader) permitted(
	ctx context.Context, refused *Forbidden, gvr schema.GroupVersionResource, namespace string, options metav1.ListOptions,
) ([]unstructured.Unstructured, error) {
	list, err := r.list(ctx, gvr, namespace, options)
	if refused.noted(err, "list", gvr.Resource) {
		return nil, nil
	}
	return list, err
}

func (r Reader) list(ctx context.Context, gvr schema.GroupVersionResource, namespace string, options metav1.ListOptions) ([]unstructured.Unstructured, error) {
	var all []unstructured.Unstructured
	options.Limit = page
	for {
		list, err := r.Client.Resource(gvr).Namespace(namespace).List(ctx, options)
		// What is not found is a kind that the cluster had when its discovery was last kept, which may be hours ago.
		if apierrors.IsNotFound(err) {
			return all, nil
		}
		if err != nil {
			return nil, fmt.Errorf("listing %s: %w", gvr.Resource, err)
		}
		all = append(all, list.Items...)
		if options.Continue = list.GetContinue(); options.Continue == "" {
			return all, nil
		}
		options.ResourceVersion = "" // that of the first page is in the token
	}
}

// pods of the workload: by the label of the root's kind, or else by their owners.
func (r Reader) pods(ctx context.Context, w *Workload) ([]corev1.Pod, error) {
	root := w.Root()
	var options metav1.ListOptions
	byOwner := false
	switch root.GroupVersionKind().Group {
	case appWrapperGroup:
		options.LabelSelector = labels.Set{appWrapperLabel: root.GetName()}.String()
	case jobSetGroup:
		options.LabelSelector = labels.Set{jobSetLabel: root.GetName()}.String()
	default:
		byOwner = true
	}
	if r.Cached {
		options.ResourceVersion = "0" // some API servers answer with all at once then, whatever the limit
	}
	owners := map[types.UID]bool{root.GetUID(): true}
	if k, found := between[root.GetKind()]; found && byOwner {
		owned, err := r.permitted(ctx, &w.Forbidden, k.gvr(), root.GetNamespace(), metav1.ListOptions{})
		if err != nil {
			return nil, err
		}
		for i := range owned {
			if ref := metav1.GetControllerOf(&owned[i]); ref != nil && ref.UID == root.GetUID() && !over(&owned[i]) {
				owners[owned[i].GetUID()] = true
			}
		}
	}
	list, err := r.permitted(ctx, &w.Forbidden, podsResource, root.GetNamespace(), options)
	if err != nil {
		return nil, err
	}
	var pods []corev1.Pod
	for i := range list {
		ref := metav1.GetControllerOf(&list[i])
		if byOwner && (ref == nil || !owners[ref.UID]) {
			continue
		}
		var pod corev1.Pod
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(list[i].Object, &pod); err != nil {
			return nil, fmt.Errorf("reading pod %s: %w", list[i].GetName(), err)
		}
		pods = append(pods, pod)
	}
	return pods, nil
}

// over tells whether it is a Job that has ended: the pods of an earlier run of a CronJob are none of the run that goes on.
func over(o *unstructured.Unstructured) bool {
	return o.GetKind() == jobs.Kind && slices.ContainsFunc(conditions(o), func(c timeline.Condition) bool {
		return c.True && (c.Type == string(batchv1.JobComplete) || c.Type == string(batchv1.JobFailed))
	})
}

func (r Reader) events(ctx context.Context, refused *Forbidden, namespace, kind, name string) ([]corev1.Event, error) {
	selector := fields.Set{"involvedObject.kind": kind, "involvedObject.name": name}.String()
	list, err := r.permitted(ctx, refused, eventsResource, namespace, metav1.ListOptions{FieldSelector: selector})
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

// Pod is one pod with its owners, from its own controller up to the root, and the events about it.
type Pod struct {
	corev1.Pod
	Owners []*unstructured.Unstructured
	Events []corev1.Event
	// Forbidden is what could not be read of owners and events.
	Forbidden Forbidden
}

// Pod reads one. Error: ErrNotFound, and those of the API server.
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
	for o := metav1.Object(object); ; {
		owner, err := r.owner(ctx, o, &p.Forbidden)
		if err != nil {
			return nil, err
		}
		if owner == nil {
			break
		}
		p.Owners = append(p.Owners, owner)
		o = owner
	}
	p.Events, err = r.events(ctx, &p.Forbidden, namespace, "Pod", name)
	return p, err
}
