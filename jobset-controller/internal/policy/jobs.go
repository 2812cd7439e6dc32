package policy

import (
	"slices"
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/shared/coordination/epoch"
)

// Jobs are the child Jobs of a JobSet by what they mean for it. Each Job is in exactly one of the lists.
type Jobs struct {
	// Previous are Jobs that a restart, of all Jobs or of this one, or a fail-over has replaced, in whatever state.
	Previous []*batchv1.Job
	// Active are unfinished Jobs of the current attempt, and those that failed only because they are being deleted.
	Active []*batchv1.Job
	// Succeeded and Failed are finished Jobs of the current attempt, and those whose failure is decided, see FailureOf.
	Succeeded []*batchv1.Job
	Failed    []*batchv1.Job
	// Names holds the names of all of them.
	Names map[string]bool
}

// SortJobs puts each Job of a JobSet where it belongs.
func SortJobs(jobs []batchv1.Job, status *v1alpha2.JobSetStatus, current epoch.Record) Jobs {
	sorted := Jobs{Names: make(map[string]bool, len(jobs))}
	single := newJobRestarts(status)
	for i := range jobs {
		job := &jobs[i]
		sorted.Names[job.Name] = true
		sorted.add(job, isPrevious(job, status.Restarts, current) || single.outdated(job))
	}
	return sorted
}

// CurrentJobs are those of the current attempt that nobody has deleted: a Job that is being deleted is made again, and all of its workers run
// again.
func CurrentJobs(js *v1alpha2.JobSet, jobs []batchv1.Job, current epoch.Record) []*batchv1.Job {
	sorted := SortJobs(jobs, &js.Status, current)
	return slices.DeleteFunc(slices.Concat(sorted.Active, sorted.Succeeded, sorted.Failed), func(job *batchv1.Job) bool {
		return !job.DeletionTimestamp.IsZero()
	})
}

func (j *Jobs) add(job *batchv1.Job, previous bool) {
	switch {
	case previous:
		j.Previous = append(j.Previous, job)
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

// number reads a label of a Job, such as the attempt that it was created in. One that cannot be read counts as 0, so that such
// a Job is replaced at the next restart instead of wedging the JobSet.
func number(job *batchv1.Job, label string) int32 {
	n, err := strconv.ParseInt(job.Labels[label], 10, 32)
	if err != nil {
		return 0
	}
	return int32(n)
}

// FailureOf a Job is the condition that says that it has failed, or that it will have when its pods are gone; nil if it has
// not. Recovery does not wait for the pods: in a large Job it takes them longer to go than all the rest.
func FailureOf(job *batchv1.Job) *batchv1.JobCondition {
	if c := condition(job, batchv1.JobFailed); c != nil {
		return c
	}
	return condition(job, batchv1.JobFailureTarget)
}

// failedByDeletion: the pods of a Job that is deleted in the foreground are killed before it goes, and the Job controller counts
// them as failures. Somebody wants the Job recreated, which is no reason to charge a restart. Both times are whole seconds: in the
// same one the deletion counts as the first, unless the Job is one that is deleted once it has failed.
func failedByDeletion(job *batchv1.Job) bool {
	if job.DeletionTimestamp == nil {
		return false
	}
	failed, deleted := FailureOf(job).LastTransitionTime.Time, job.DeletionTimestamp.Time
	return failed.After(deleted) || failed.Equal(deleted) && job.Spec.TTLSecondsAfterFinished == nil
}

// Finished reports whether a Job has completed, has failed or is about to: it ends without help.
func Finished(job *batchv1.Job) bool {
	return FailureOf(job) != nil || condition(job, batchv1.JobComplete) != nil
}

// ReportedSuspended reports whether the Job controller says that a Job is suspended. It goes on to say so until it has made the pods of a Job
// that is resumed.
func ReportedSuspended(job *batchv1.Job) bool { return condition(job, batchv1.JobSuspended) != nil }

func condition(job *batchv1.Job, kind batchv1.JobConditionType) *batchv1.JobCondition {
	for i := range job.Status.Conditions {
		if c := &job.Status.Conditions[i]; c.Type == kind && c.Status == corev1.ConditionTrue {
			return c
		}
	}
	return nil
}
