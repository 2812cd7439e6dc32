package plan

import (
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/utils/ptr"

	"github.com/holdfast-project/holdfast/shared/coordination/epoch"
)

// Resume returns the Job with what it needs to run again, and whether its pod template differs from the current one. desired is the
// Job that the Builder makes now. A queue may have changed labels, annotations, nodeSelector, tolerations and schedulingGates of
// the template since the Job was created.
//
// The three placement fields follow the JobSet exactly: merging would keep a node selector or a toleration of the last admission.
// Labels and annotations are merged, because the API server and webhooks have added theirs; the JobSet wins.
func Resume(current, desired *batchv1.Job) (job *batchv1.Job, templateDiffers bool) {
	job = current.DeepCopy()
	job.Spec.Suspend = ptr.To(false)
	job.Annotations = merged(job.Annotations, map[string]string{epoch.Annotation: desired.Annotations[epoch.Annotation]})

	have, want := &job.Spec.Template, &desired.Spec.Template
	have.Labels = merged(have.Labels, want.Labels)
	have.Annotations = merged(have.Annotations, want.Annotations)
	have.Spec.NodeSelector = want.Spec.NodeSelector
	have.Spec.Tolerations = want.Spec.Tolerations
	have.Spec.SchedulingGates = want.Spec.SchedulingGates
	return job, !equality.Semantic.DeepEqual(current.Spec.Template, *have)
}

// Resize returns the Job with the parallelism and completions of its replicatedJob, and whether they differ from the current ones.
// Only Indexed Jobs whose two numbers are equal can be resized: the API server rejects all others.
func Resize(current *batchv1.Job, rjob *batchv1.JobSpec) (job *batchv1.Job, differs bool) {
	if !Elastic(rjob) || !Elastic(&current.Spec) || *current.Spec.Parallelism == *rjob.Parallelism {
		return current, false
	}
	job = current.DeepCopy()
	job.Spec.Parallelism, job.Spec.Completions = ptr.To(*rjob.Parallelism), ptr.To(*rjob.Completions)
	return job, true
}

// Elastic reports whether a Job with this spec can be resized.
func Elastic(spec *batchv1.JobSpec) bool {
	return ptr.Deref(spec.CompletionMode, batchv1.IndexedCompletion) == batchv1.IndexedCompletion &&
		spec.Parallelism != nil && spec.Completions != nil && *spec.Parallelism == *spec.Completions && *spec.Parallelism >= 1
}
