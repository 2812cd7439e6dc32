package policy

import (
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/shared/coordination/epoch"
)

// Jobs are the child Jobs of a JobSet by what they mean for it. Each Job is in exactly one of the lists.
type Jobs struct {
	// Previous are Jobs that a restart or a fail-over has replaced, in whatever state.
	Previous []*batchv1.Job
	// Active are unfinished Jobs of the current attempt, and those that failed only because they are being deleted.
	Active []*batchv1.Job
	// Succeeded and Failed are finished Jobs of the current attempt.
	Succeeded []*batchv1.Job
	Failed    []*batchv1.Job
	// Names holds the names of all of them.
	Names map[string]bool
}

// SortJobs puts each Job of a JobSet where it belongs. restarts is status.restarts.
func SortJobs(jobs []batchv1.Job, restarts int32, current epoch.Record) Jobs {
	sorted := Jobs{Names: make(map[string]bool, len(jobs))}
	for i := range jobs {
		job := &jobs[i]
		sorted.Names[job.Name] = true
		sorted.add(job, isPrevious(job, restarts, current))
	}
	return sorted
}

func (j *Jobs) add(job *batchv1.Job, previous bool) {
	switch {
	case previous:
		j.Previous = append(j.Previous, job)
	case FailedCondition(job) != nil && !failedByDeletion(job):
		j.Failed = append(j.Failed, job)
	case condition(job, batchv1.JobComplete) != nil:
		j.Succeeded = append(j.Succeeded, job)
	default:
		j.Active = append(j.Active, job)
	}
}

func isPrevious(job *batchv1.Job, restarts int32, current epoch.Record) bool {
	return attempt(job) < restarts || current.Stale(epoch.OfJob(job.Annotations))
}

// attempt reads the attempt a Job was created in. A label that cannot be read counts as the first one, so that such a Job is
// replaced at the next restart instead of wedging the JobSet.
func attempt(job *batchv1.Job) int32 {
	n, err := strconv.ParseInt(job.Labels[v1alpha2.RestartsKey], 10, 32)
	if err != nil {
		return 0
	}
	return int32(n)
}

// FailedCondition of a Job, or nil.
func FailedCondition(job *batchv1.Job) *batchv1.JobCondition {
	return condition(job, batchv1.JobFailed)
}

// Failing tells whether a Job has failed or is bound to: its pods are being stopped for it.
func Failing(job *batchv1.Job) bool {
	return FailedCondition(job) != nil || condition(job, batchv1.JobFailureTarget) != nil
}

// failedByDeletion: the pods of a Job that is deleted in the foreground are killed before it goes, and the Job controller counts
// them as failures. Somebody wants the Job created anew, which is no reason to charge a restart.
func failedByDeletion(job *batchv1.Job) bool {
	return job.DeletionTimestamp != nil && FailedCondition(job).LastTransitionTime.After(job.DeletionTimestamp.Time)
}

// Finished tells whether a Job has completed or failed.
func Finished(job *batchv1.Job) bool {
	return FailedCondition(job) != nil || condition(job, batchv1.JobComplete) != nil
}

func condition(job *batchv1.Job, kind batchv1.JobConditionType) *batchv1.JobCondition {
	for i := range job.Status.Conditions {
		if c := &job.Status.Conditions[i]; c.Type == kind && c.Status == corev1.ConditionTrue {
			return c
		}
	}
	return nil
}
