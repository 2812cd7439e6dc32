// Package owners lists the objects that have groups: JobSets and, if enabled, ElasticJobs, Jobs and pods. It reads only the
// metadata of ElasticJobs, so it needs no type of another program. If the cluster lacks their definition, there are none.
package owners

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
	Pod    = corev1.SchemeGroupVersion.WithKind("Pod") // the pod of index 0 of a group that pods declare
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
	unasked  = iota // ElasticJobs are not listed
	unknown         // ElasticJobs are listed, and it is not known yet whether the cluster has the definition
	absent          // the cluster has no definition
	readable        // they can be listed
)

// ErrUnknown accompanies an incomplete list. Callers must not conclude anything from what the list lacks.
var ErrUnknown = errors.New("whether there are ElasticJobs is not known yet")

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
func (l *Lister) List(ctx context.Context, from client.Reader) ([]client.Object, error) {
	var list v1alpha2.JobSetList
	if err := from.List(ctx, &list); err != nil {
		return nil, fmt.Errorf("listing JobSets: %w", err)
	}
	var all []client.Object
	for i := range list.Items {
		all = append(all, &list.Items[i])
	}
	if l != nil && l.Beside {
		jobs, err := listJobs(ctx, from)
		if err != nil {
			return nil, err
		}
		pods, err := listPods(ctx, from)
		if err != nil {
			return nil, err
		}
		all = append(append(all, jobs...), pods...)
	}
	switch state := l.state(); state {
	case unasked, absent:
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

// listJobs reads the Jobs without a JobSet that an installation leads.
func listJobs(ctx context.Context, from client.Reader) ([]client.Object, error) {
	var list batchv1.JobList
	if err := from.List(ctx, &list); err != nil {
		return nil, fmt.Errorf("listing Jobs: %w", err)
	}
	var all []client.Object
	for i := range list.Items {
		job := &list.Items[i]
		if job.Annotations[v1alpha2.LedByKey] != "" && !IsJobSet(metav1.GetControllerOfNoCopy(job)) {
			all = append(all, job)
		}
	}
	return all, nil
}

// listPods reads the pods of index 0 of the groups that pods declare.
func listPods(ctx context.Context, from client.Reader) ([]client.Object, error) {
	var list corev1.PodList
	if err := from.List(ctx, &list, client.MatchingLabels{v1alpha2.GroupKindKey: inplace.PodKind, v1alpha2.PodGroupIndexKey: "0"}); err != nil {
		return nil, fmt.Errorf("listing pods: %w", err)
	}
	var all []client.Object
	for i := range list.Items {
		if pod := &list.Items[i]; pod.Annotations[v1alpha2.LedByKey] != "" {
			all = append(all, pod)
		}
	}
	return all, nil
}

func (l *Lister) state() int32 {
	if l == nil {
		return unasked
	}
	return l.elastic.Load()
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
