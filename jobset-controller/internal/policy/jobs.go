package policy

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/epoch"
	"github.com/holdfast-project/holdfast/shared/grace"
)

// Jobs holds the child Jobs of a JobSet by role. Each Job is in exactly one of the lists.
type Jobs struct {
	// Previous lists Jobs that were replaced by a restart of all Jobs, by a restart of this Job or by a full
	// recreation, in any state.
	Previous []*batchv1.Job
	// Active lists unfinished Jobs of the current attempt, and those that failed only because they are being deleted.
	Active []*batchv1.Job
	// Succeeded and Failed list finished Jobs of the current attempt, and those certain to fail. See FailureOf.
	Succeeded []*batchv1.Job
	Failed    []*batchv1.Job
	// Spares lists the spare Jobs of the current attempt, in any state. They only make up for missing pods.
	Spares []*batchv1.Job
	Names  map[string]bool
}

func SortJobs(jobs []batchv1.Job, status *v1alpha2.JobSetStatus, current epoch.Record) Jobs {
	sorted := Jobs{Names: make(map[string]bool, len(jobs))}
	single := JobRestarts(status)
	for i := range jobs {
		job := &jobs[i]
		sorted.Names[job.Name] = true
		previous := number(job, v1alpha2.RestartsKey) < status.Restarts || current.Stale(epoch.OfJob(job.Annotations))
		sorted.add(job, previous || !IsSpares(job) && outdated(job, single[job.Labels[v1alpha2.ReplicatedJobNameKey]]))
	}
	return sorted
}

// CurrentJobs returns the Jobs of the current attempt that are not being deleted. It omits Jobs that are being deleted,
// because they are recreated, and all of their workers run again.
func CurrentJobs(js *v1alpha2.JobSet, jobs []batchv1.Job, current epoch.Record) []*batchv1.Job {
	return slices.DeleteFunc(SortJobs(jobs, &js.Status, current).Current(), func(job *batchv1.Job) bool { return !job.DeletionTimestamp.IsZero() })
}

// Current returns the Jobs of the current attempt, except spare Jobs.
func (j Jobs) Current() []*batchv1.Job { return slices.Concat(j.Active, j.Succeeded, j.Failed) }

// FinishedInSpares returns the Jobs that are unfinished although all workers of their replicatedJob have finished, some
// of them in spares. The pods that replaced the workers' original pods may never start. A pod without a worker exits
// with code 0 only when all workers have finished. All workers have therefore finished once as many pods, spares
// included, have succeeded as there are workers.
func FinishedInSpares(spec *v1alpha2.JobSetSpec, jobs Jobs) []*batchv1.Job {
	missing := map[string]int32{} // by replicatedJob
	for i := range spec.ReplicatedJobs {
		rjob := &spec.ReplicatedJobs[i]
		missing[rjob.Name] = rjob.Replicas * ptr.Deref(rjob.Template.Spec.Completions, 1)
	}
	spared := map[string]bool{}
	for _, job := range slices.Concat(jobs.Current(), jobs.Spares) {
		rjob := job.Labels[v1alpha2.ReplicatedJobNameKey]
		missing[rjob] -= job.Status.Succeeded
		spared[rjob] = spared[rjob] || IsSpares(job)
	}
	return slices.DeleteFunc(slices.Clone(jobs.Active), func(job *batchv1.Job) bool {
		rjob := job.Labels[v1alpha2.ReplicatedJobNameKey]
		completes := job.Status.Succeeded >= ptr.Deref(job.Spec.Completions, 1) // the Job controller is about to report it as complete
		return !spared[rjob] || missing[rjob] > 0 || completes || !job.DeletionTimestamp.IsZero()
	})
}

// WithSucceeded returns the Jobs with the given active ones moved to Succeeded.
func (j Jobs) WithSucceeded(done []*batchv1.Job) Jobs {
	j.Active = slices.DeleteFunc(slices.Clone(j.Active), func(job *batchv1.Job) bool { return slices.Contains(done, job) })
	j.Succeeded = slices.Concat(j.Succeeded, done)
	return j
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

// number parses a label of a Job, such as the attempt in which it was created. An invalid label counts as 0, so that
// the Job is replaced at the next restart instead of blocking the JobSet.
func number(job *batchv1.Job, label string) int32 {
	n, err := strconv.ParseInt(job.Labels[label], 10, 32)
	if err != nil {
		return 0
	}
	return int32(n)
}

// FailureOf returns the condition which shows that a Job has failed, or will fail once its pods are gone. It returns
// nil if there is none. Recovery does not wait for the pods, because terminating the pods of a large Job takes longer
// than the rest of the recovery.
func FailureOf(job *batchv1.Job) *batchv1.JobCondition {
	return cmp.Or(condition(job, batchv1.JobFailed), condition(job, batchv1.JobFailureTarget))
}

// failedByDeletion reports whether a Job failed because it is being deleted. When a Job is deleted in the foreground,
// its pods are killed first, and the Job controller counts them as failures. The Job will be recreated, and no restart
// is counted. Both times have a resolution of one second. If they are equal, the deletion is assumed to have come
// first, unless the Job is deleted because it has failed.
func failedByDeletion(job *batchv1.Job) bool {
	if job.DeletionTimestamp == nil {
		return false
	}
	failed, deleted := FailureOf(job).LastTransitionTime.Time, job.DeletionTimestamp.Time
	return failed.After(deleted) || failed.Equal(deleted) && job.Spec.TTLSecondsAfterFinished == nil
}

// Finished reports whether a Job has completed, has failed or is about to fail. Such a Job ends on its own.
func Finished(job *batchv1.Job) bool {
	return FailureOf(job) != nil || condition(job, batchv1.JobComplete) != nil
}

// ReportedSuspended reports whether the Job controller reports a Job as suspended. After the Job was resumed, it
// continues to do so until it has created the pods.
func ReportedSuspended(job *batchv1.Job) bool { return condition(job, batchv1.JobSuspended) != nil }

func condition(job *batchv1.Job, kind batchv1.JobConditionType) *batchv1.JobCondition {
	for i := range job.Status.Conditions {
		if c := &job.Status.Conditions[i]; c.Type == kind && c.Status == corev1.ConditionTrue {
			return c
		}
	}
	return nil
}

// stuckPodRule has no default; see optIn.
var stuckPodRule = grace.Rule{Name: v1alpha2.StuckPodTimeoutKey, Minimum: time.Second}

// StuckPodTimeout returns how long a pod on a dead node may remain Terminating after its grace period, or 0 if the
// JobSet does not set a valid limit.
func StuckPodTimeout(annotations map[string]string, problems *field.ErrorList) time.Duration {
	return optIn(stuckPodRule, annotations, problems)
}

// Lives reports whether a pod is running or will run, and has not been deleted.
func Lives(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp.IsZero() && pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed
}

// Tally counts the Jobs of the current attempt, and returns one status per replicatedJob in spec order. Counters of
// single-Job restarts are carried over from previous. See CountRestarts.
func Tally(spec *v1alpha2.JobSetSpec, jobs Jobs, previous []v1alpha2.ReplicatedJobStatus) []v1alpha2.ReplicatedJobStatus {
	statuses := make([]v1alpha2.ReplicatedJobStatus, len(spec.ReplicatedJobs))
	t := make(tallies, len(statuses))
	for i := range statuses {
		statuses[i].Name = spec.ReplicatedJobs[i].Name
		t[statuses[i].Name] = &statuses[i]
	}
	for _, old := range previous {
		if s := t[old.Name]; s != nil {
			s.JobRestarts, s.JobRestartsCountTowardsMax = old.JobRestarts, old.JobRestartsCountTowardsMax
		}
	}
	t.each(jobs.Failed, func(s *v1alpha2.ReplicatedJobStatus, _ *batchv1.Job) { s.Failed++ })
	t.each(jobs.Succeeded, func(s *v1alpha2.ReplicatedJobStatus, _ *batchv1.Job) { s.Succeeded++ })
	t.countUnfinished(jobs)
	t.creditPassed(spec, jobs)
	return statuses
}

// tallies holds the statuses of the replicatedJobs by name.
type tallies map[string]*v1alpha2.ReplicatedJobStatus

func (t tallies) each(jobs []*batchv1.Job, count func(*v1alpha2.ReplicatedJobStatus, *batchv1.Job)) {
	for _, job := range jobs {
		if s := t[job.Labels[v1alpha2.ReplicatedJobNameKey]]; s != nil {
			count(s, job)
		}
	}
}

// countUnfinished counts active Jobs. A Job is also ready if ready spares make up for its missing pods. While a spare
// works in the slot of a lost pod, the replacement of that pod waits, and may fail its readiness probe.
func (t tallies) countUnfinished(jobs Jobs) {
	left := map[string]int32{} // ready spares by replicatedJob
	for _, job := range jobs.Spares {
		left[job.Labels[v1alpha2.ReplicatedJobNameKey]] += ptr.Deref(job.Status.Ready, 0)
	}
	t.each(jobs.Active, func(s *v1alpha2.ReplicatedJobStatus, job *batchv1.Job) {
		if missing, started := missingPods(job); started && missing <= left[s.Name] {
			left[s.Name] -= max(0, missing)
			s.Ready++
		}
		if job.Status.Active > 0 {
			s.Active++
		}
		if ptr.Deref(job.Spec.Suspend, false) {
			s.Suspended++
		}
	})
}

// creditPassed counts Jobs that no longer exist as succeeded if a later stage that waited for them to succeed has
// started. A finished Job that a user deletes is not run again while the next stage is running.
func (t tallies) creditPassed(spec *v1alpha2.JobSetSpec, jobs Jobs) {
	passed := passed(spec, jobs)
	if !slices.Contains(passed, true) {
		return
	}
	there := map[string]int32{}
	for _, job := range jobs.Current() {
		there[job.Labels[v1alpha2.ReplicatedJobNameKey]]++
	}
	for i := range passed {
		if rjob := &spec.ReplicatedJobs[i]; passed[i] {
			t[rjob.Name].Succeeded += max(0, rjob.Replicas-there[rjob.Name])
		}
	}
}

// missingPods returns how many pods that may run at the same time are neither ready nor succeeded. started is false for
// a suspended Job. The pod counts in its status are outdated until the Job controller has processed its resumption.
func missingPods(job *batchv1.Job) (missing int32, started bool) {
	if ptr.Deref(job.Spec.Suspend, false) || ReportedSuspended(job) {
		return 0, false
	}
	return PodsOf(&job.Spec) - job.Status.Succeeded - ptr.Deref(job.Status.Ready, 0), true
}

// PodsOf returns how many pods of one Job run at the same time.
func PodsOf(job *batchv1.JobSpec) int32 {
	parallelism := ptr.Deref(job.Parallelism, 1)
	return min(parallelism, ptr.Deref(job.Completions, parallelism))
}

// Workers returns how many pods of a JobSet run at the same time.
func Workers(spec *v1alpha2.JobSetSpec) int64 {
	var n int64
	for i := range spec.ReplicatedJobs {
		n += int64(spec.ReplicatedJobs[i].Replicas) * int64(PodsOf(&spec.ReplicatedJobs[i].Template.Spec))
	}
	return n
}

// AllReady reports whether every Job of the JobSet is ready or has succeeded.
func AllReady(spec *v1alpha2.JobSetSpec, statuses []v1alpha2.ReplicatedJobStatus) bool {
	var up, expected int64
	for _, s := range statuses {
		up += int64(s.Ready) + int64(s.Succeeded)
	}
	for i := range spec.ReplicatedJobs {
		expected += int64(spec.ReplicatedJobs[i].Replicas)
	}
	return up == expected
}

// Queued reports whether Kueue queues the JobSet as a whole. The JobSet has a queue label or was admitted without one,
// which is possible if Kueue also manages objects without a queue. Kueue then counts only the pods of
// spec.replicatedJobs.
func Queued(js *v1alpha2.JobSet) bool {
	return js.Labels[v1alpha2.QueueNameLabel] != "" || slices.ContainsFunc(js.Spec.ReplicatedJobs, func(rjob v1alpha2.ReplicatedJob) bool {
		return rjob.Template.Spec.Template.Labels[v1alpha2.PodSetLabel] != ""
	})
}

// Reported returns the tallies for the status of a JobSet, in which the Jobs of replicatedJobs that may not start yet
// are counted as notStarted. If Kueue has admitted a JobSet as a whole, it considers the pods ready when Ready and
// Succeeded of all replicatedJobs add up to all replicas. Otherwise, it evicts the JobSet after a timeout. It reads no
// other fields, so in a queued JobSet these Jobs also count as ready.
func Reported(spec *v1alpha2.JobSetSpec, tallies []v1alpha2.ReplicatedJobStatus, gates []bool, queued bool) []v1alpha2.ReplicatedJobStatus {
	reported := slices.Clone(tallies)
	for i := range reported {
		s := &reported[i]
		if gates[i] || s.Ready+s.Succeeded+s.Failed+s.Active > 0 {
			continue
		}
		s.NotStarted = spec.ReplicatedJobs[i].Replicas
		if queued {
			s.Ready = s.NotStarted
		}
	}
	return reported
}
