package policy

import (
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/utils/ptr"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
)

// Tally counts the Jobs of the current attempt, one status for each replicatedJob in spec order. Counters of single-Job restarts are
// carried over from previous. See CountRestarts.
func Tally(spec *v1alpha2.JobSetSpec, jobs Jobs, previous []v1alpha2.ReplicatedJobStatus) []v1alpha2.ReplicatedJobStatus {
	t := newTallies(spec, previous)
	t.each(jobs.Failed, func(s *v1alpha2.ReplicatedJobStatus, _ *batchv1.Job) { s.Failed++ })
	t.each(jobs.Succeeded, func(s *v1alpha2.ReplicatedJobStatus, _ *batchv1.Job) { s.Succeeded++ })
	t.each(jobs.Active, countUnfinished)
	t.creditPassed(spec, jobs)
	return t.statuses
}

// creditPassed counts Jobs that no longer exist as succeeded if a later stage, which waited for them to succeed, has started. A
// finished Job that a user deletes does not run again while the next stage runs.
func (t tallies) creditPassed(spec *v1alpha2.JobSetSpec, jobs Jobs) {
	passed := passed(spec, jobs)
	if !slices.Contains(passed, true) {
		return
	}
	there := map[string]int32{}
	for _, list := range [][]*batchv1.Job{jobs.Active, jobs.Succeeded, jobs.Failed} {
		for _, job := range list {
			there[job.Labels[v1alpha2.ReplicatedJobNameKey]]++
		}
	}
	for i := range passed {
		if s := &t.statuses[i]; passed[i] {
			s.Succeeded += max(0, spec.ReplicatedJobs[i].Replicas-there[s.Name])
		}
	}
}

type tallies struct {
	statuses []v1alpha2.ReplicatedJobStatus
	byName   map[string]*v1alpha2.ReplicatedJobStatus
}

func newTallies(spec *v1alpha2.JobSetSpec, previous []v1alpha2.ReplicatedJobStatus) tallies {
	t := tallies{
		statuses: make([]v1alpha2.ReplicatedJobStatus, len(spec.ReplicatedJobs)),
		byName:   make(map[string]*v1alpha2.ReplicatedJobStatus, len(spec.ReplicatedJobs)),
	}
	for i := range spec.ReplicatedJobs {
		t.statuses[i].Name = spec.ReplicatedJobs[i].Name
		t.byName[t.statuses[i].Name] = &t.statuses[i]
	}
	for _, old := range previous {
		if s := t.byName[old.Name]; s != nil {
			s.JobRestarts, s.JobRestartsCountTowardsMax = old.JobRestarts, old.JobRestartsCountTowardsMax
		}
	}
	return t
}

func (t tallies) each(jobs []*batchv1.Job, count func(*v1alpha2.ReplicatedJobStatus, *batchv1.Job)) {
	for _, job := range jobs {
		if s := t.byName[job.Labels[v1alpha2.ReplicatedJobNameKey]]; s != nil {
			count(s, job)
		}
	}
}

func countUnfinished(s *v1alpha2.ReplicatedJobStatus, job *batchv1.Job) {
	if isReady(job) {
		s.Ready++
	}
	if job.Status.Active > 0 {
		s.Active++
	}
	if ptr.Deref(job.Spec.Suspend, false) {
		s.Suspended++
	}
}

// isReady reports whether as many pods are ready or done as may run at a time. The pod counts in the status of a suspended Job are
// outdated until the Job controller has handled its resumption.
func isReady(job *batchv1.Job) bool {
	if ptr.Deref(job.Spec.Suspend, false) || ReportedSuspended(job) {
		return false
	}
	expected := ptr.Deref(job.Spec.Parallelism, 1)
	if job.Spec.Completions != nil {
		expected = min(expected, *job.Spec.Completions)
	}
	return job.Status.Succeeded+ptr.Deref(job.Status.Ready, 0) >= expected
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

// Reported returns the tallies for the status of a JobSet: the Jobs of replicatedJobs that may not start yet are notStarted. If
// Kueue has admitted a JobSet as a whole, it considers the pods ready when Ready and Succeeded of all replicatedJobs add up to all
// replicas, and evicts the JobSet after a timeout if they do not. It reads nothing else, so in a queued JobSet these Jobs also
// count as ready.
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
