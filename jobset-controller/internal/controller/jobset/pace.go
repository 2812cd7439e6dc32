package jobset

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
)

// countersEach is how often the numbers of Jobs by state, and what a JobSet that does not run waits for, are written while they are on their
// way somewhere. Each Job that starts or stops changes them twice, and nobody acts on what is in between.
const countersEach = 3 * time.Second

// pace is how long a status waits that says nothing new but numbers in between. 0: it is written now.
func (r *Reconciler) pace(js *v1alpha2.JobSet, status *v1alpha2.JobSetStatus) time.Duration {
	last, told := r.told.Get(js.UID)
	if !told || !onlyInBetween(&js.Spec, &js.Status, status) {
		return 0
	}
	return max(0, countersEach-r.clock.Since(last.(time.Time)))
}

// onlyInBetween: nothing differs but numbers of Jobs that are ready, active or suspended, and why the JobSet does not run; and none of the
// numbers has got to where somebody waits for it: all are ready or done, the first is active, or none is any more.
func onlyInBetween(spec *v1alpha2.JobSetSpec, old, now *v1alpha2.JobSetStatus) bool {
	if len(old.ReplicatedJobsStatus) != len(now.ReplicatedJobsStatus) || !equality.Semantic.DeepEqual(withoutProgress(old), withoutProgress(now)) {
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
	if !anyActive(old) && anyActive(now) {
		return false
	}
	for _, s := range now.ReplicatedJobsStatus {
		was, all := before[s.Name], replicas[s.Name]
		arrived := s.Active == 0 && was.Active != 0 ||
			s.Ready+s.Succeeded == all && was.Ready+was.Succeeded != all
		if arrived {
			return false
		}
	}
	return true
}

func anyActive(status *v1alpha2.JobSetStatus) bool {
	return slices.ContainsFunc(status.ReplicatedJobsStatus, func(s v1alpha2.ReplicatedJobStatus) bool { return s.Active > 0 })
}

// withoutProgress leaves out what comes and goes: numbers, and the reasons of condition Running. Jobs that have failed or succeeded
// stay: they free quota.
func withoutProgress(status *v1alpha2.JobSetStatus) v1alpha2.JobSetStatus {
	rest := *status
	rest.ReplicatedJobsStatus = make([]v1alpha2.ReplicatedJobStatus, len(status.ReplicatedJobsStatus))
	for i, s := range status.ReplicatedJobsStatus {
		s.Ready, s.Active, s.Suspended = 0, 0, 0
		rest.ReplicatedJobsStatus[i] = s
	}
	rest.Conditions = slices.Clone(status.Conditions)
	for i := range rest.Conditions {
		if c := &rest.Conditions[i]; c.Type == string(v1alpha2.JobSetRunning) {
			c.Reason, c.Message = "", ""
		}
	}
	return rest
}
