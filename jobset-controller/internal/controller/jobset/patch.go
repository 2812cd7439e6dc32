package jobset

import (
	"context"
	"fmt"
	"maps"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
)

// patchJob writes the differences, except those of the status, to this very Job: the patch has its UID, so the API server rejects
// it for another Job of that name.
func (r *Reconciler) patchJob(ctx context.Context, js *v1alpha2.JobSet, current, changed *batchv1.Job) error {
	from, to := *current, *changed
	from.Status, to.Status = batchv1.JobStatus{}, batchv1.JobStatus{}
	leaveOutEqual(&from.ObjectMeta, &to.ObjectMeta)
	leaveOutEqual(&from.Spec.Template.ObjectMeta, &to.Spec.Template.ObjectMeta)
	return r.jobPatched(js, current, r.client.Patch(ctx, &to, withUID(&from)))
}

// leaveOutEqual removes equal labels and annotations, which are most of a Job, so that they are not encoded and compared.
func leaveOutEqual(a, b *metav1.ObjectMeta) {
	if maps.Equal(a.Labels, b.Labels) {
		a.Labels, b.Labels = nil, nil
	}
	if maps.Equal(a.Annotations, b.Annotations) {
		a.Annotations, b.Annotations = nil, nil
	}
}

func withUID(current *batchv1.Job) client.Patch {
	base := *current
	base.UID = "" // so that the patch has the UID
	return client.MergeFrom(&base)
}

// jobPatched considers the patch of a deleted or replaced Job done. After a patch, the next reconcile waits until the cache should show
// it.
func (r *Reconciler) jobPatched(js *v1alpha2.JobSet, job *batchv1.Job, err error) error {
	if err == nil {
		r.wrote(js)
	}
	if err == nil || apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return fmt.Errorf("patching job %s: %w", job.Name, err)
}
