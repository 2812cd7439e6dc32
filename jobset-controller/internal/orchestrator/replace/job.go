package replace

import (
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/holdfast-project/holdfast/jobset-controller/internal/inplace"
)

// over are the conditions of a Job that makes no more pods.
var over = []batchv1.JobConditionType{
	batchv1.JobComplete, batchv1.JobFailed, batchv1.JobSuccessCriteriaMet, batchv1.JobFailureTarget,
}

// Refusal says why a Job is to have no pod at a completion index that somebody else makes; "" if it may. It is asked of the Job
// as the API server has it now, because a pod in a Job that is suspended or finished would be deleted again at best.
func Refusal(job *batchv1.Job, index int) string {
	spec := &job.Spec
	switch {
	case !job.DeletionTimestamp.IsZero():
		return "its Job is being deleted"
	case ptr.Deref(spec.Suspend, false):
		return "its Job is suspended"
	case slices.ContainsFunc(job.Status.Conditions, isOver):
		return "its Job has finished"
	case ptr.Deref(spec.ManagedBy, batchv1.JobControllerName) != batchv1.JobControllerName:
		return "its Job is managed by " + *spec.ManagedBy
	case ptr.Deref(spec.CompletionMode, batchv1.NonIndexedCompletion) != batchv1.IndexedCompletion:
		return "its Job has no completion indexes"
	case spec.BackoffLimitPerIndex != nil:
		return "its Job counts failures for each index" // on the pods, from one to the next
	case index < 0 || index >= int(ptr.Deref(spec.Completions, 0)):
		return "its Job has no such completion index"
	case inplace.HasIndex(job.Status.CompletedIndexes, index), inplace.HasIndex(ptr.Deref(job.Status.FailedIndexes, ""), index):
		return "its Job has finished with it"
	case !madeItsPods(job):
		return "its Job is about to make its pods"
	}
	return ""
}

// madeItsPods tells whether a Job has had all of its pods. One that is new makes them at once, and whoever makes one beside it makes
// one too many. Later, what is missing of its active pods is known to it as failed, as ending, or as a failure that it counts just now.
func madeItsPods(job *batchv1.Job) bool {
	s := &job.Status
	counting := s.UncountedTerminatedPods != nil && len(s.UncountedTerminatedPods.Failed) > 0
	wanted := min(ptr.Deref(job.Spec.Completions, 0)-s.Succeeded, ptr.Deref(job.Spec.Parallelism, 1))
	return s.Failed > 0 || ptr.Deref(s.Terminating, 0) > 0 || counting || s.Active >= wanted
}

func isOver(c batchv1.JobCondition) bool {
	return c.Status == corev1.ConditionTrue && slices.Contains(over, c.Type)
}
