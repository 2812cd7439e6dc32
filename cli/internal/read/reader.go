// Package read gathers what is known of a workload with a dynamic client: its objects, from the root down, its pods, and events. Kinds that
// the cluster does not have are simply not there, so that any of the programs may be missing.
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

// ErrForbidden: one has no right to read what was asked for.
var ErrForbidden = errors.New("no right")

// Forbidden is what one has no right to do, such as "list pods". Nothing follows from what is missing then.
type Forbidden []string

// noted tells whether an error is a refusal, and keeps it in mind.
func (f *Forbidden) noted(err error, verb, resource string) bool {
	if !apierrors.IsForbidden(err) {
		return false
	}
	if right := verb + " " + resource; !slices.Contains(*f, right) {
		*f = append(*f, right)
	}
	return true
}

// First of those with the verb; empty if there is none.
func (f Forbidden) First(verb string) string {
	for _, right := range f {
		if strings.HasPrefix(right, verb+" ") {
			return right
		}
	}
	return ""
}

// String is a list for people: "get jobs, list pods, events".
func (f Forbidden) String() string {
	var parts []string
	last := ""
	for _, right := range f {
		verb, resource, _ := strings.Cut(right, " ")
		if verb == last {
			right = resource
		}
		parts, last = append(parts, right), verb
	}
	return strings.Join(parts, ", ")
}

// Groups and labels of the kinds that are known.
const (
	appWrapperGroup = "workload.codeflare.dev"
	jobSetGroup     = "jobset.x-k8s.io"
	elasticGroup    = "elastic.pytorch.org"

	appWrapperLabel = "workload.codeflare.dev/appwrapper"
	jobSetLabel     = "jobset.sigs.k8s.io/jobset-name"
	queueLabel      = "kueue.x-k8s.io/queue-name"
)

// kind of object that can be a workload, or the root of one.
type kind struct {
	schema.GroupVersionKind
	resource string
}

func (k kind) gvr() schema.GroupVersionResource { return k.GroupVersion().WithResource(k.resource) }

// training are the kinds that one of our programs owns; they come before those that the rescheduler merely watches.
var training = []kind{
	{schema.GroupVersionKind{Group: appWrapperGroup, Version: "v1beta2", Kind: "AppWrapper"}, "appwrappers"},
	{schema.GroupVersionKind{Group: jobSetGroup, Version: "v1alpha2", Kind: "JobSet"}, "jobsets"},
	{schema.GroupVersionKind{Group: elasticGroup, Version: "v1alpha1", Kind: "ElasticJob"}, "elasticjobs"},
}

var (
	cronJobs     = kind{schema.GroupVersionKind{Group: "batch", Version: "v1", Kind: "CronJob"}, "cronjobs"}
	jobs         = kind{schema.GroupVersionKind{Group: "batch", Version: "v1", Kind: "Job"}, "jobs"}
	deployments  = kind{schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}, "deployments"}
	statefulSets = kind{schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "StatefulSet"}, "statefulsets"}
	replicaSets  = kind{schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "ReplicaSet"}, "replicasets"}
)

// moved are the kinds that the rescheduler keeps its memory on, owners before what they own. ReplicaSets are none of them: a Deployment
// copies its annotations to its own.
var moved = []kind{cronJobs, jobs, deployments, statefulSets}

// between are the kinds whose objects stand between those of a kind and their pods.
var between = map[string]kind{cronJobs.Kind: jobs, deployments.Kind: replicaSets}

func allKinds() []kind { return slices.Concat(training, moved, []kind{replicaSets}) }

// served leaves out kinds that the cluster does not have.
func served(mapper meta.RESTMapper, kinds []kind) ([]kind, error) {
	var found []kind
	for _, k := range kinds {
		_, err := mapper.RESTMapping(k.GroupKind(), k.Version)
		switch {
		case err == nil:
			found = append(found, k)
		case !meta.IsNoMatchError(err):
			return nil, err
		}
	}
	return found, nil
}

// All are the workloads of a namespace, or of all if it is empty, without their pods and events: objects of our kinds, and those of which
// the rescheduler has a memory, that none of them owns. Kinds that one has no right to list are left out, and told. Errors: ErrForbidden, if
// these are all, and those of the API server.
func (r Reader) All(ctx context.Context, namespace string) ([]*Workload, Forbidden, error) {
	kinds, err := served(r.Mapper, slices.Concat(training, moved))
	if err != nil {
		return nil, nil, err
	}
	var refused Forbidden
	f := forest{byUID: map[types.UID]*Workload{}}
	for _, k := range kinds { // owners come first: what they own is theirs
		list, err := r.permitted(ctx, &refused, k.gvr(), namespace, listing(k))
		if err != nil {
			return nil, nil, err
		}
		for i := range list {
			if slices.Contains(training, k) || timeline.Remembered(list[i].GetAnnotations()) {
				f.add(&list[i])
			}
		}
	}
	if len(refused) > 0 && len(refused) == len(kinds) {
		where := "all namespaces"
		if namespace != "" {
			where = "namespace " + namespace
		}
		return nil, nil, fmt.Errorf("%w to %s in %s", ErrForbidden, refused, where)
	}
	return f.roots, refused, nil
}

// listing leaves the Jobs of JobSets to the API server, of which there may be thousands: the memory of their moves is on the JobSet.
func listing(k kind) metav1.ListOptions {
	if k != jobs {
		return metav1.ListOptions{}
	}
	return metav1.ListOptions{LabelSelector: "!" + jobSetLabel}
}

// forest of workloads, by their roots.
type forest struct {
	roots []*Workload
	byUID map[types.UID]*Workload
}

func (f *forest) add(o *unstructured.Unstructured) {
	if ref := metav1.GetControllerOf(o); ref != nil && f.byUID[ref.UID] != nil {
		owner := f.byUID[ref.UID]
		owner.Objects = append(owner.Objects, o)
		return
	}
	w := &Workload{Objects: []*unstructured.Unstructured{o}}
	f.byUID[o.GetUID()] = w
	f.roots = append(f.roots, w)
}
