// Package owners knows the objects that have groups: JobSets and, where that is asked for, ElasticJobs. Of the latter only metadata are
// read, so that no type of another program is needed; without their definition in the cluster there are none.
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

// ElasticJob is the kind that speaks by a roster; see package roster.
var ElasticJob = schema.GroupVersionKind{Group: "elastic.pytorch.org", Version: "v1alpha1", Kind: "ElasticJob"}

// JobSet and Job are the other kinds.
var (
	JobSet = v1alpha2.GroupVersion.WithKind("JobSet")
	Job    = batchv1.SchemeGroupVersion.WithKind("Job")
	Pod    = corev1.SchemeGroupVersion.WithKind("Pod") // of index 0, of a group that pods declare
)

// IsJobSet reports whether a reference is to a JobSet.
func IsJobSet(owner *metav1.OwnerReference) bool {
	return owner != nil && owner.Kind == JobSet.Kind && owner.APIVersion == JobSet.GroupVersion().String()
}

// Lister lists the owners. The zero Lister, and nil, know JobSets only.
type Lister struct {
	Beside  bool // Jobs that have a group of their own, and pods that lead one
	elastic atomic.Int32
}

const (
	unasked  = iota // ElasticJobs are none of our business
	unknown         // they are, and whether the cluster has any is not known yet
	absent          // the cluster does not know the kind
	readable        // they can be listed
)

// ErrUnknown is beside an incomplete list: nothing must be concluded from what is not on it.
var ErrUnknown = errors.New("whether there are ElasticJobs is not known yet")

// Expect ElasticJobs, about which nothing is known yet.
func (l *Lister) Expect() { l.elastic.Store(unknown) }

// Found says whether the cluster knows ElasticJobs. They can be listed then.
func (l *Lister) Found(there bool) {
	if there {
		l.elastic.Store(readable)
	} else {
		l.elastic.Store(absent)
	}
}

// List reads them all. What it can read it returns beside an error too.
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
	if meta.IsNoMatchError(err) { // the definition is gone, and all of them with it
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

// List reads the metadata of ElasticJobs. Where the cluster does not know the kind, meta.IsNoMatchError tells of the error.
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

// MakeElasticJob is one that is to be read.
func MakeElasticJob() *metav1.PartialObjectMetadata {
	job := &metav1.PartialObjectMetadata{}
	job.SetGroupVersionKind(ElasticJob)
	return job
}

// KindOf an owner. Objects of a typed list do not say it themselves.
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

// Copy of an owner, to be changed.
func Copy(owner client.Object) client.Object { return owner.DeepCopyObject().(client.Object) }
