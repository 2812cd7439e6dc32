package jobset

import (
	"context"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
)

// ownerIndex finds Jobs by the UID of the JobSet that controls them.
const ownerIndex = "holdfast.controller-uid"

// CacheOptions limits the cache to the Jobs and Services of JobSets and to exclusively placed pods, and keeps only what is read of
// each object. The API server filters by label, and the transforms strip the objects.
//
// A stripped object must never be sent back as a whole: all writes are patches with only the differences, or applied fields.
func CacheOptions() cache.Options {
	return cache.Options{
		DefaultTransform: stripAny,
		ByObject: map[client.Object]cache.ByObject{
			&batchv1.Job{}:    {Label: labelled(v1alpha2.JobSetNameKey), Transform: stripJob},
			&corev1.Service{}: {Label: labelled(v1alpha2.JobSetNameKey), Transform: stripService},
			&corev1.Pod{}:     {Label: labelled(v1alpha2.PriorityKey), Transform: stripPod},
		},
	}
}

func labelled(key string) labels.Selector {
	exists, err := labels.NewRequirement(key, selection.Exists, nil)
	utilruntime.Must(err)
	return labels.NewSelector().Add(*exists)
}

// AddIndexes adds the indexes that the reconciler uses.
func AddIndexes(ctx context.Context, indexer client.FieldIndexer) error {
	return indexer.IndexField(ctx, &batchv1.Job{}, ownerIndex, controllingJobSet)
}

func controllingJobSet(object client.Object) []string {
	owner := metav1.GetControllerOfNoCopy(object)
	if owner == nil || owner.APIVersion != v1alpha2.GroupVersion.String() || owner.Kind != "JobSet" {
		return nil
	}
	return []string{string(owner.UID)}
}
