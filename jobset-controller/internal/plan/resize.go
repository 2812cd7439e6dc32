package plan

import (
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/utils/ptr"
)

// Resize gives the Job with the parallelism and completions of its entry, and whether they differ from what it has. Only Indexed
// Jobs whose two numbers are equal can be resized: the API server refuses all others.
func Resize(current *batchv1.Job, entry *batchv1.JobSpec) (job *batchv1.Job, differs bool) {
	if !Elastic(entry) || !Elastic(&current.Spec) || *current.Spec.Parallelism == *entry.Parallelism {
		return current, false
	}
	job = current.DeepCopy()
	job.Spec.Parallelism, job.Spec.Completions = ptr.To(*entry.Parallelism), ptr.To(*entry.Completions)
	return job, true
}

// Elastic tells whether Jobs of the spec can change their size.
func Elastic(spec *batchv1.JobSpec) bool {
	return ptr.Deref(spec.CompletionMode, batchv1.IndexedCompletion) == batchv1.IndexedCompletion &&
		spec.Parallelism != nil && spec.Completions != nil && *spec.Parallelism == *spec.Completions && *spec.Parallelism >= 1
}
