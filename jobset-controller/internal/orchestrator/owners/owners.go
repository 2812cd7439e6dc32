// Package owners lists the objects that have groups: JobSets and, if enabled, ElasticJobs, Jobs and pods. It reads only the
// metadata of ElasticJobs, so it needs no type of another program. If the cluster lacks their definition, there are none.
package owners

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/inplace"
)

// ElasticJob is the kind that lists its members in a roster; see package roster.
var ElasticJob = schema.GroupVersionKind{Group: "elastic.pytorch.org", Version: "v1alpha1", Kind: "ElasticJob"}

// JobSet, Job and Pod are the other kinds.
var (
	JobSet = v1alpha2.GroupVersion.WithKind("JobSet")
	Job    = batchv1.SchemeGroupVersion.WithKind("Job")
	Pod    = corev1.SchemeGroupVersion.WithKind("Pod") // the pod with index 0 of a group that pods declare
)

// IsJobSet reports whether the reference is to a JobSet.
func IsJobSet(owner *metav1.OwnerReference) bool {
	return owner != nil && owner.Kind == JobSet.Kind && owner.APIVersion == JobSet.GroupVersion().String()
}

// Lister lists the owners. The zero Lister and a nil Lister list JobSets only.
type Lister struct {
	Beside  bool // also list Jobs that have their own group, and pods that lead a group
	elastic atomic.Int32
}

const (
	absent   = iota // ElasticJobs are not listed, or the cluster has no definition
	unknown         // ElasticJobs are listed, and it is not known yet whether the cluster has the definition
	readable        // they can be listed
)

// ErrUnknown accompanies an incomplete list. Callers must not conclude anything from what the list lacks.
var ErrUnknown = errors.New("it is not yet known whether the cluster serves ElasticJobs")

// Expect makes the Lister list ElasticJobs once it is known whether the cluster has their definition.
func (l *Lister) Expect() { l.elastic.Store(unknown) }

// Found sets whether the cluster has the definition of ElasticJobs.
func (l *Lister) Found(there bool) {
	if there {
		l.elastic.Store(readable)
	} else {
		l.elastic.Store(absent)
	}
}

// List reads all owners. It may return an incomplete list and an error.
func (l *Lister) List(ctx context.Context, from client.Reader) (all []client.Object, err error) {
	add := func(what string, list client.ObjectList, isOwner func(client.Object) bool, options ...client.ListOption) error {
		if err := from.List(ctx, list, options...); err != nil {
			return fmt.Errorf("listing %s: %w", what, err)
		}
		return meta.EachListItem(list, func(obj runtime.Object) error {
			if owner := obj.(client.Object); isOwner(owner) {
				all = append(all, owner)
			}
			return nil
		})
	}
	if err := add("JobSets", &v1alpha2.JobSetList{}, func(client.Object) bool { return true }); err != nil || l == nil {
		return all, err
	}
	if l.Beside {
		leads := client.MatchingLabels{v1alpha2.GroupKindKey: inplace.PodKind, v1alpha2.PodGroupIndexKey: "0"}
		if err := errors.Join(add("Jobs", &batchv1.JobList{}, isLed), add("pods", &corev1.PodList{}, isLed, leads)); err != nil {
			return nil, err
		}
	}
	switch l.elastic.Load() {
	case absent:
		return all, nil
	case unknown:
		return all, ErrUnknown
	}
	elastic, err := List(ctx, from)
	if meta.IsNoMatchError(err) { // the definition was deleted, and all ElasticJobs with it
		return all, nil
	}
	for i := range elastic {
		all = append(all, &elastic[i])
	}
	return all, err
}

// ByUID returns all owners by UID. It may return an incomplete map and an error.
func (l *Lister) ByUID(ctx context.Context, from client.Reader) (map[string]client.Object, error) {
	list, err := l.List(ctx, from)
	byUID := make(map[string]client.Object, len(list))
	for _, owner := range list {
		byUID[string(owner.GetUID())] = owner
	}
	return byUID, err
}

// Unknown returns the UIDs that no owner has. It reads live before it returns any, because the cache may be stale.
func (l *Lister) Unknown(ctx context.Context, cache, live client.Reader, uids []string) ([]string, error) {
	for _, from := range []client.Reader{cache, live} {
		if len(uids) == 0 {
			break
		}
		known, err := l.ByUID(ctx, from)
		if err != nil {
			return nil, err
		}
		uids = slices.DeleteFunc(slices.Clone(uids), func(uid string) bool { return known[uid] != nil })
	}
	return uids, nil
}

// isLed reports whether an installation leads the group of a Job or a pod.
func isLed(obj client.Object) bool {
	return obj.GetAnnotations()[v1alpha2.LedByKey] != "" && !IsJobSet(metav1.GetControllerOfNoCopy(obj))
}

// List reads the metadata of ElasticJobs. If the cluster has no definition, meta.IsNoMatchError reports true for the error.
func List(ctx context.Context, from client.Reader, opts ...client.ListOption) ([]metav1.PartialObjectMetadata, error) {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(ElasticJob.GroupVersion().WithKind(ElasticJob.Kind + "List"))
	if err := from.List(ctx, list, opts...); err != nil {
		return nil, fmt.Errorf("listing ElasticJobs: %w", err)
	}
	for i := range list.Items {
		list.Items[i].SetGroupVersionKind(ElasticJob)
	}
	return list.Items, nil
}

// MakeElasticJob returns an empty ElasticJob to read into.
func MakeElasticJob() *metav1.PartialObjectMetadata {
	job := &metav1.PartialObjectMetadata{}
	job.SetGroupVersionKind(ElasticJob)
	return job
}

// KindOf returns the kind of an owner. Objects of a typed list have no type metadata.
func KindOf(owner client.Object) schema.GroupVersionKind {
	switch owner.(type) {
	case *v1alpha2.JobSet:
		return JobSet
	case *batchv1.Job:
		return Job
	case *corev1.Pod:
		return Pod
	}
	return ElasticJob
}

// Copy returns a copy of an owner to modify.
func Copy(owner client.Object) client.Object { return owner.DeepCopyObject().(client.Object) }

// WithAnnotations returns a copy of an owner in which annotations were changed. An empty value removes its annotation.
func WithAnnotations(owner client.Object, values map[string]string) client.Object {
	next := Copy(owner)
	annotations := next.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	for key, value := range values {
		if value == "" {
			delete(annotations, key)
		} else {
			annotations[key] = value
		}
	}
	next.SetAnnotations(annotations)
	return next
}
