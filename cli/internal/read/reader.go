// Package read collects the objects, pods and events of a workload with a dynamic client. Kinds that the cluster does not serve are skipped,
// so none of the programs needs to be installed.
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
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/holdfast-project/holdfast/shared/timeline"
)

var (
	// ErrNotFound means that no object of a known kind has the given name.
	ErrNotFound  = errors.New("not found")
	ErrForbidden = errors.New("no permission")
)

// Forbidden lists missing permissions, such as "list pods". The affected objects are unknown.
type Forbidden []string

// record reports whether the error is a missing permission, and records it.
func (f *Forbidden) record(err error, verb, resource string) bool {
	if !apierrors.IsForbidden(err) {
		return false
	}
	if right := verb + " " + resource; !slices.Contains(*f, right) {
		*f = append(*f, right)
	}
	return true
}

func (f Forbidden) String() string { return strings.Join(f, ", ") }

type Reader struct {
	Client dynamic.Interface
	Mapper meta.RESTMapper
	// Cached makes repeated reads cheaper. Lists come from the API server's cache, so they may be slightly out of date, and events are not
	// read.
	Cached bool
}

var (
	podsResource   = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	eventsResource = schema.GroupVersionResource{Version: "v1", Resource: "events"}
)

// page is the maximum number of objects in one response.
const page = 500

// Workload finds a workload by NAME or KIND/NAME of any of its objects, and reads it completely. If several kinds have an object of that
// name, the one nearest to the root is used. For groups declared by pods, the pods with index 0 hold the state and are included as objects.
// Workload fails with ErrNotFound, ErrForbidden, or an error from the API server.
func (r Reader) Workload(ctx context.Context, namespace, name string) (*Workload, error) {
	object, err := r.find(ctx, namespace, name)
	if err != nil {
		return nil, err
	}
	w := &Workload{Objects: []*unstructured.Unstructured{object}}
	owners, _, err := r.owners(ctx, object, &w.Forbidden, known)
	if err != nil {
		return nil, err
	}
	owners = slices.DeleteFunc(owners, func(o *unstructured.Unstructured) bool { return o.GetKind() == podKind.Kind }) // a pod is never the root here
	if len(owners) > 0 {
		w.Objects = owners[len(owners)-1:]
	}
	if err := r.below(ctx, w); err != nil {
		return nil, err
	}
	var refused Forbidden // the state of the workload cannot be determined without its pods
	if err = r.pods(ctx, w, &refused); err == nil && len(refused) > 0 {
		err = fmt.Errorf("%w to %s in namespace %s", ErrForbidden, refused, namespace)
	}
	if err != nil {
		return nil, err
	}
	if !r.Cached {
		err = r.workloadEvents(ctx, w)
	}
	return w, err
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
	for _, k := range append(kinds, podKind) {
		if qualified && !k.is(wanted) {
			continue
		}
		what, get := k.Kind, r.get
		if k == podKind {
			what, get = "group of pods", r.firstPod
		}
		var missing Forbidden
		object, err := get(ctx, &missing, k, namespace, bare)
		switch {
		case object != nil || err != nil:
			return object, err
		case len(missing) > 0:
			refused = append(refused, k.Kind)
		default:
			none = append(none, what)
		}
	}
	return nil, notFound(namespace, wanted, bare, none, refused)
}

// get returns an object, or nil if it does not exist or the user is not allowed to read it. It records a missing permission.
func (r Reader) get(ctx context.Context, refused *Forbidden, k kind, namespace, name string) (*unstructured.Unstructured, error) {
	o, err := r.Client.Resource(k.gvr()).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err) || refused.record(err, "get", k.resource):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("getting %s %s: %w", k.Kind, name, err)
	}
	return o, nil
}

// firstPod returns the pod with index 0 of the group to which a pod belongs. It returns nil if there is none, or if the user is not allowed
// to read it.
func (r Reader) firstPod(ctx context.Context, refused *Forbidden, pods kind, namespace, name string) (*unstructured.Unstructured, error) {
	pod, err := r.get(ctx, refused, pods, namespace, name)
	if pod == nil || pod.GetLabels()[groupNameLabel] == name {
		return pod, err
	}
	if name = pod.GetLabels()[groupNameLabel]; name == "" {
		return nil, nil
	}
	return r.get(ctx, refused, pods, namespace, name)
}

// notFound returns an error that lists the kinds that the user is not allowed to read. If there are none, it lists the kinds that were
// searched.
func notFound(namespace, kind, name string, none, refused []string) error {
	switch {
	case len(refused) > 0:
		return fmt.Errorf("%w to get %s in namespace %s", ErrForbidden, strings.Join(refused, ", "), namespace)
	case len(none) == 0:
		return fmt.Errorf("%w: the cluster has no supported kind %q", ErrNotFound, kind)
	}
	return fmt.Errorf("%w: namespace %s has no %s named %s", ErrNotFound, namespace, strings.Join(none, ", "), name)
}

// maxOwners is the maximum number of owners that the rescheduler follows.
const maxOwners = 8

// owners follows controller references and returns the owners, with the root last. It stops before an owner that follow rejects or that
// cannot be read. In the latter case, missing gives the reason, unless the user lacks permission.
func (r Reader) owners(
	ctx context.Context, o *unstructured.Unstructured, refused *Forbidden, follow func(schema.GroupKind) bool,
) (owners []*unstructured.Unstructured, missing string, err error) {
	for range maxOwners {
		ref := metav1.GetControllerOf(o)
		if ref == nil || !follow(schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind).GroupKind()) {
			break
		}
		if o, missing, err = r.owner(ctx, refused, o.GetNamespace(), ref); o == nil || err != nil {
			return owners, missing, err
		}
		owners = append(owners, o)
	}
	return owners, "", nil
}

// owner returns the object of an owner reference, or nil if it could not be read. UIDs must match.
func (r Reader) owner(
	ctx context.Context, refused *Forbidden, namespace string, ref *metav1.OwnerReference,
) (owner *unstructured.Unstructured, missing string, err error) {
	of := schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind)
	mapping, err := r.Mapper.RESTMapping(of.GroupKind(), of.Version)
	if meta.IsNoMatchError(err) {
		return nil, "the cluster does not serve the kind " + ref.Kind + " in " + ref.APIVersion, nil
	}
	if err != nil {
		return nil, "", fmt.Errorf("finding the resource of %s: %w", ref.Kind, err)
	}
	if mapping.Scope.Name() == meta.RESTScopeNameRoot {
		namespace = ""
	}
	var denied Forbidden
	owner, err = r.get(ctx, &denied, kind{of, mapping.Resource.Resource}, namespace, ref.Name)
	switch {
	case err != nil || len(denied) > 0:
		*refused = append(*refused, denied...)
		return nil, "", err
	case owner == nil || owner.GetUID() != ref.UID:
		return nil, ref.Kind + " " + ref.Name + " does not exist", nil
	}
	return owner, "", nil
}

// below adds objects owned by the root that have a restart history: objects of our kinds, and Indexed Jobs that restart in place. It skips
// finished runs of a CronJob.
func (r Reader) below(ctx context.Context, w *Workload) error {
	root := w.Root()
	var candidates []kind
	switch {
	case root.GroupVersionKind().Group == appWrapperGroup:
		candidates = append(training[1:len(training):len(training)], jobs)
	case root.GetKind() == cronJobs.Kind:
		candidates = []kind{jobs}
	}
	kinds, err := served(r.Mapper, candidates)
	if err != nil {
		return err
	}
	for _, k := range kinds {
		list, err := r.list(ctx, &w.Forbidden, k.gvr(), root.GetNamespace(), listOptions(k))
		if err != nil {
			return err
		}
		for i := range list {
			o := &list[i]
			earlier := root.GetKind() == cronJobs.Kind && finishedJob(o)
			if metav1.IsControlledBy(o, root) && (k != jobs || declared(o) != nil) && !earlier {
				w.Objects = append(w.Objects, o)
			}
		}
	}
	return nil
}

// listOptions excludes the Jobs of JobSets, of which there may be thousands. Their state is on the JobSet.
func listOptions(k kind) (options metav1.ListOptions) {
	if k == jobs {
		options.LabelSelector = "!" + jobSetLabel
	}
	return options
}

// list returns all objects, page by page. It records a missing permission instead of returning an error.
func (r Reader) list(
	ctx context.Context, refused *Forbidden, gvr schema.GroupVersionResource, namespace string, options metav1.ListOptions,
) ([]unstructured.Unstructured, error) {
	var all []unstructured.Unstructured
	options.Limit = page
	if r.Cached {
		options.ResourceVersion = "0" // some API servers ignore the limit if this is set
	}
	for {
		list, err := r.Client.Resource(gvr).Namespace(namespace).List(ctx, options)
		switch {
		case apierrors.IsNotFound(err): // cached discovery data may be hours old, so the kind may no longer be served
			return all, nil
		case refused.record(err, "list", gvr.Resource):
			return nil, nil
		case err != nil:
			return nil, fmt.Errorf("listing %s: %w", gvr.Resource, err)
		}
		all = append(all, list.Items...)
		if options.Continue = list.GetContinue(); options.Continue == "" {
			return all, nil
		}
		options.ResourceVersion = "" // the continue token contains it
	}
}

// pods adds the pods of the workload: by the label of the root's kind if it has one, otherwise by owner. Pods with index 0 are added as
// objects of the workload.
func (r Reader) pods(ctx context.Context, w *Workload, refused *Forbidden) error {
	root := w.Root()
	var options metav1.ListOptions
	label, labeled := podLabels[root.GroupVersionKind().Group]
	if labeled {
		options.LabelSelector = labels.Set{label: root.GetName()}.String()
	}
	owners := map[types.UID]bool{root.GetUID(): true}
	if k, found := intermediate[root.GetKind()]; found && !labeled {
		owned, err := r.list(ctx, refused, k.gvr(), root.GetNamespace(), metav1.ListOptions{})
		if err != nil {
			return err
		}
		for i := range owned {
			if metav1.IsControlledBy(&owned[i], root) && !finishedJob(&owned[i]) {
				owners[owned[i].GetUID()] = true
			}
		}
	}
	list, err := r.list(ctx, refused, podsResource, root.GetNamespace(), options)
	if err != nil {
		return err
	}
	for i := range list {
		ref := metav1.GetControllerOf(&list[i])
		if !labeled && (ref == nil || !owners[ref.UID]) {
			continue
		}
		var pod corev1.Pod
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(list[i].Object, &pod); err != nil {
			return fmt.Errorf("reading pod %s: %w", list[i].GetName(), err)
		}
		w.Pods = append(w.Pods, pod)
		if pod.UID != root.GetUID() && pod.Labels[groupNameLabel] == pod.Name {
			list[i].SetGroupVersionKind(podKind.GroupVersionKind) // list items may lack it
			w.Objects = append(w.Objects, &list[i])
		}
	}
	return nil
}

// finishedJob reports whether the object is a Job that has ended. Pods of earlier runs of a CronJob do not belong to the current run.
func finishedJob(o *unstructured.Unstructured) bool {
	done := timeline.Object{Conditions: conditions(o)}.True(string(batchv1.JobComplete), string(batchv1.JobFailed))
	return o.GetKind() == jobs.Kind && done != nil
}
