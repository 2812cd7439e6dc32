package policy

import (
	"slices"
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/epoch"
)

// Jobs are the child Jobs of a JobSet by their role. Each Job is in exactly one of the lists.
type Jobs struct {
	// Previous are Jobs that were replaced, by a restart of all Jobs, by a restart of this Job or by a full recreation, in any
	// state.
	Previous []*batchv1.Job
	// Active are unfinished Jobs of the current attempt, and those that failed only because they are being deleted.
	Active []*batchv1.Job
	// Succeeded and Failed are finished Jobs of the current attempt, and those whose failure is certain. See FailureOf.
	Succeeded []*batchv1.Job
	Failed    []*batchv1.Job
	// Spares are Jobs of the current attempt with spares, in any state. They count for nothing.
	Spares []*batchv1.Job
	// Names are the names of all Jobs.
	Names map[string]bool
}

// SortJobs sorts the Jobs of a JobSet into the lists.
func SortJobs(jobs []batchv1.Job, status *v1alpha2.JobSetStatus, current epoch.Record) Jobs {
	sorted := Jobs{Names: make(map[string]bool, len(jobs))}
	single := newJobRestarts(status)
	for i := range jobs {
		job := &jobs[i]
		sorted.Names[job.Name] = true
		sorted.add(job, isPrevious(job, status.Restarts, current) || !IsSpares(job) && single.outdated(job))
	}
	return sorted
}

// CurrentJobs returns the Jobs of the current attempt that are not being deleted: a deleted Job is recreated, and all of its
// workers run again.
func CurrentJobs(js *v1alpha2.JobSet, jobs []batchv1.Job, current epoch.Record) []*batchv1.Job {
	sorted := SortJobs(jobs, &js.Status, current)
	return slices.DeleteFunc(slices.Concat(sorted.Active, sorted.Succeeded, sorted.Failed), func(job *batchv1.Job) bool {
		return !job.DeletionTimestamp.IsZero()
	})
}

// IsSpares reports whether the pods of a Job are spares.
func IsSpares(job *batchv1.Job) bool { return job.Labels[v1alpha2.JobIndexKey] == coordination.Spares }

func (j *Jobs) add(job *batchv1.Job, previous bool) {
	switch {
	case previous:
		j.Previous = append(j.Previous, job)
	case IsSpares(job):
		j.Spares = append(j.Spares, job)
	case FailureOf(job) != nil && !failedByDeletion(job):
		j.Failed = append(j.Failed, job)
	case condition(job, batchv1.JobComplete) != nil:
		j.Succeeded = append(j.Succeeded, job)
	default:
		j.Active = append(j.Active, job)
	}
}

func isPrevious(job *batchv1.Job, restarts int32, current epoch.Record) bool {
	return number(job, v1alpha2.RestartsKey) < restarts || current.Stale(epoch.OfJob(job.Annotations))
}

// number parses a label of a Job, such as the attempt in which it was created. An invalid label counts as 0, so that the Job is
// replaced at the next restart instead of blocking the JobSet.
func number(job *batchv1.Job, label string) int32 {
	n, err := strconv.ParseInt(job.Labels[label], 10, 32)
	if err != nil {
		return 0
	}
	return int32(n)
}

// FailureOf returns the condition that shows that a Job has failed, or will have failed when its pods are gone, or nil if it has not.
// A recovery does not wait for the pods: in a large Job, ending them takes longer than everything else.
func FailureOf(job *batchv1.Job) *batchv1.JobCondition {
	if c := condition(job, batchv1.JobFailed); c != nil {
		return c
	}
	return condition(job, batchv1.JobFailureTarget)
}

// failedByDeletion reports whether a Job failed because it is being deleted. The pods of a Job that is deleted in the foreground
// are killed first, and the Job controller counts them as failures. The Job will be recreated, and no restart is charged. Both
// times have whole seconds. If they are equal, the deletion counts as the earlier one, unless the Job is deleted because it has
// failed.
func failedByDeletion(job *batchv1.Job) bool {
	if job.DeletionTimestamp == nil {
		return false
	}
	failed, deleted := FailureOf(job).LastTransitionTime.Time, job.DeletionTimestamp.Time
	return failed.After(deleted) || failed.Equal(deleted) && job.Spec.TTLSecondsAfterFinished == nil
}

// Finished reports whether a Job has completed, has failed or is about to fail, so that it ends by itself.
func Finished(job *batchv1.Job) bool {
	return FailureOf(job) != nil || condition(job, batchv1.JobComplete) != nil
}

// ReportedSuspended reports whether the Job controller reports a Job as suspended. For a resumed Job it continues to do so until it
// has created the pods.
func ReportedSuspended(job *batchv1.Job) bool { return condition(job, batchv1.JobSuspended) != nil }

func condition(job *batchv1.Job, kind batchv1.JobConditionType) *batchv1.JobCondition {
	for i := range job.Status.Conditions {
		if c := &job.Status.Conditions[i]; c.Type == kind && c.Status == corev1.ConditionTrue {
			return c
		}
	}
	return nil
}
