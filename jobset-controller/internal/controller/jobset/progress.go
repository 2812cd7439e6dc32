package jobset

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/utils/ptr"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
)

// progressInterval is how often intermediate counts of Jobs by state, and what a JobSet waits for, are written. Each Job that
// starts or stops changes the counts twice, and no program acts on intermediate counts: 5 s is for people who watch.
const progressInterval = 5 * time.Second

// progressRate is how many such writes per second all JobSets share, because the API server has other work when hundreds of them
// start at once.
const progressRate = 5

// progressDelay returns how long to wait before writing a status that differs only in intermediate counts. 0 means write it now.
func (r *Reconciler) progressDelay(js *v1alpha2.JobSet, status *v1alpha2.JobSetStatus) time.Duration {
	last, written := r.written.Get(js.UID)
	if !written || !onlyProgress(&js.Spec, &js.Status, status) {
		return 0
	}
	if left := progressInterval - r.clock.Since(last.(time.Time)); left > 0 {
		return left
	}
	if !r.counters.TryAccept() {
		return progressInterval
	}
	return 0
}

// onlyProgress reports whether only these things differ: messages, why the JobSet does not run, and the numbers of Jobs that are
// ready, active or suspended. It is false if one of the numbers has reached a value that somebody waits for: all Jobs are ready or
// done, or no Job of a suspended JobSet is still active.
func onlyProgress(spec *v1alpha2.JobSetSpec, old, now *v1alpha2.JobSetStatus) bool {
	if len(old.ReplicatedJobsStatus) != len(now.ReplicatedJobsStatus) || !equality.Semantic.DeepEqual(withoutCounters(old), withoutCounters(now)) {
		return false
	}
	before := make(map[string]v1alpha2.ReplicatedJobStatus, len(old.ReplicatedJobsStatus))
	for _, s := range old.ReplicatedJobsStatus {
		before[s.Name] = s
	}
	replicas := make(map[string]int32, len(spec.ReplicatedJobs))
	for i := range spec.ReplicatedJobs {
		replicas[spec.ReplicatedJobs[i].Name] = spec.ReplicatedJobs[i].Replicas
	}
	for _, s := range now.ReplicatedJobsStatus {
		was, all := before[s.Name], replicas[s.Name]
		arrived := s.Succeeded != was.Succeeded || s.Failed > was.Failed || // they free quota
			ptr.Deref(spec.Suspend, false) && s.Active == 0 && was.Active != 0 ||
			s.Ready+s.Succeeded == all && was.Ready+was.Succeeded != all
		if arrived {
			return false
		}
	}
	return true
}

// withoutCounters returns a status without what is counted from the existing Jobs, in numbers and in words. The rest is a record:
// restarts of the JobSet and of single Jobs, and conditions.
func withoutCounters(status *v1alpha2.JobSetStatus) v1alpha2.JobSetStatus {
	record := *status
	record.ReplicatedJobsStatus = make([]v1alpha2.ReplicatedJobStatus, len(status.ReplicatedJobsStatus))
	for i, s := range status.ReplicatedJobsStatus {
		record.ReplicatedJobsStatus[i] = v1alpha2.ReplicatedJobStatus{
			Name: s.Name, JobRestarts: s.JobRestarts, JobRestartsCountTowardsMax: s.JobRestartsCountTowardsMax,
		}
	}
	record.Conditions = slices.Clone(status.Conditions)
	for i := range record.Conditions {
		c := &record.Conditions[i]
		c.Message = ""
		if c.Type == string(v1alpha2.JobSetRunning) {
			c.Reason = ""
		}
	}
	return record
}
