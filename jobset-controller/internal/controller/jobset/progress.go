package jobset

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/utils/ptr"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
)

// progressInterval is how often the numbers of Jobs by state, and what a JobSet that does not run waits for, are written while they are on their
// way somewhere. Each Job that starts or stops changes them twice, and nobody acts on what is in between: 5 s is for people who watch.
const progressInterval = 5 * time.Second

// progressRate is how many such writes all JobSets have together in a second: when hundreds start at once, the API server has other work.
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

// onlyProgress: nothing differs but numbers of Jobs that are ready, active or suspended, messages, and why the JobSet does not run; and none
// of the numbers has got to where somebody waits for it: all are ready or done, or none of a suspended JobSet is active any more.
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

// withoutCounters is a status without what is counted from the Jobs that are there, in numbers and in words. What remains is a record: restarts
// of the JobSet and of single Jobs, and conditions.
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
