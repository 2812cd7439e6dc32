// Package owners lists the objects that have groups: JobSets and, if enabled, ElasticJobs, Jobs and pods. It reads only
// the metadata of ElasticJobs, so it does not depend on the types of another program. If their CustomResourceDefinition
// is not installed, there are none.
package owners

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/inplace"
)

// ElasticJob is the kind whose objects list their members in a roster; see package roster.
var ElasticJob = schema.GroupVersionKind{Group: "elastic.pytorch.org", Version: "v1alpha1", Kind: "ElasticJob"}

// JobSet, Job and Pod are the other kinds.
var (
	JobSet = v1alpha2.GroupVersion.WithKind("JobSet")
	Job    = batchv1.SchemeGroupVersion.WithKind("Job")
	Pod    = corev1.SchemeGroupVersion.WithKind("Pod") // the pod with index 0 of a group declared by its pods
)

func IsJobSet(owner *metav1.OwnerReference) bool {
	return owner != nil && owner.Kind == JobSet.Kind && owner.APIVersion == JobSet.GroupVersion().String()
}

// Lister lists the owners. A zero or nil Lister lists only JobSets.
type Lister struct {
	Beside  bool // also list Jobs that form a group of their own, and pods that lead a group
	Elastic bool // also list ElasticJobs, once AwaitElasticJobs has determined whether the cluster serves them

	served atomic.Int32 // whether the cluster serves ElasticJobs
}

const (
	unknown = iota
	absent
	readable
)

// ErrUnknown accompanies an incomplete list. Callers must not draw conclusions from the absence of an object.
var ErrUnknown = errors.New("it is not yet known whether the cluster serves ElasticJobs")

// AwaitElasticJobs waits until the cluster serves ElasticJobs and this program may read them. It polls with a live
// list, which requires the same permission as a watch. A missing permission does not end the program.
func (l *Lister) AwaitElasticJobs(ctx context.Context, live client.Reader) error {
	var said string
	return wait.PollUntilContextCancel(ctx, 10*time.Second, true, func(ctx context.Context) (bool, error) {
		err := live.List(ctx, elasticJobList(), client.Limit(1))
		switch {
		case err == nil:
			l.served.Store(readable)
		case meta.IsNoMatchError(err):
			l.served.Store(absent)
		case err.Error() != said:
			said = err.Error()
			log.FromContext(ctx).Error(err, "reading ElasticJobs failed, not managing their in-place restarts")
		}
		return err == nil, nil
	})
}

// ByUID returns all owners by UID. It may return an incomplete map together with an error.
func (l *Lister) ByUID(ctx context.Context, from client.Reader) (map[string]client.Object, error) {
	all := map[string]client.Object{}
	add := func(what string, list client.ObjectList, options ...client.ListOption) error {
		if err := from.List(ctx, list, options...); err != nil {
			return fmt.Errorf("listing %s: %w", what, err)
		}
		return meta.EachListItem(list, func(obj runtime.Object) error {
			if owner := obj.(client.Object); isOwner(owner) {
				owner.GetObjectKind().SetGroupVersionKind(KindOf(owner))
				all[string(owner.GetUID())] = owner
			}
			return nil
		})
	}
	if err := add("JobSets", &v1alpha2.JobSetList{}); err != nil || l == nil {
		return all, err
	}
	if l.Beside {
		leads := client.MatchingLabels{v1alpha2.GroupKindKey: inplace.PodKind, v1alpha2.PodGroupIndexKey: "0"}
		if err := errors.Join(add("Jobs", &batchv1.JobList{}), add("pods", &corev1.PodList{}, leads)); err != nil {
			return nil, err
		}
	}
	switch state := l.served.Load(); {
	case !l.Elastic || state == absent:
		return all, nil
	case state == unknown:
		return all, ErrUnknown
	}
	err := add("ElasticJobs", elasticJobList())
	if meta.IsNoMatchError(err) { // the CustomResourceDefinition was deleted, and all ElasticJobs with it
		return all, nil
	}
	return all, err
}

// Unknown returns the UIDs that do not belong to any owner. It confirms them with the API server, because the cache may
// be stale.
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

// Jobs returns the Jobs of a JobSet.
func Jobs(ctx context.Context, from client.Reader, js client.Object) ([]batchv1.Job, error) {
	var list batchv1.JobList
	if err := from.List(ctx, &list, client.InNamespace(js.GetNamespace()), client.MatchingLabels{v1alpha2.JobSetNameKey: js.GetName()}); err != nil {
		return nil, fmt.Errorf("listing the Jobs: %w", err)
	}
	return slices.DeleteFunc(list.Items, func(job batchv1.Job) bool { return !metav1.IsControlledBy(&job, js) }), nil
}

// isOwner reports whether a listed object has a group: a Job or a pod has one if it is led by an installation.
func isOwner(obj client.Object) bool {
	if kind := KindOf(obj); kind == JobSet || kind == ElasticJob {
		return true
	}
	return obj.GetAnnotations()[v1alpha2.LedByKey] != "" && !IsJobSet(metav1.GetControllerOfNoCopy(obj))
}

func elasticJobList() *metav1.PartialObjectMetadataList {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(ElasticJob.GroupVersion().WithKind(ElasticJob.Kind + "List"))
	return list
}

// MakeElasticJob returns an empty ElasticJob for reading its metadata.
func MakeElasticJob() *metav1.PartialObjectMetadata {
	job := &metav1.PartialObjectMetadata{}
	job.SetGroupVersionKind(ElasticJob)
	return job
}

// KindOf returns the kind of an owner. Objects in a typed list have no type metadata.
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

func Copy(owner client.Object) client.Object { return owner.DeepCopyObject().(client.Object) }

// WithAnnotations returns a copy of an owner with changed annotations. An empty value removes the annotation.
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
