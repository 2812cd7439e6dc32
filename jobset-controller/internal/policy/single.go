package policy

import (
	"math"
	"slices"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
)

// MaxSingleRestarts is the maximum number of Jobs in a replicatedJob that restarts single Jobs, because the status counts them one
// by one.
const MaxSingleRestarts = 1024

// jobRestarts are the restarts of single Jobs, by replicatedJob and Job index.
type jobRestarts map[string][]int32

func newJobRestarts(status *v1alpha2.JobSetStatus) jobRestarts {
	var restarts jobRestarts
	for i := range status.ReplicatedJobsStatus {
		if s := &status.ReplicatedJobsStatus[i]; len(s.JobRestarts) > 0 {
			if restarts == nil {
				restarts = jobRestarts{}
			}
			restarts[s.Name] = s.JobRestarts
		}
	}
	return restarts
}

// outdated reports whether a Job was replaced since it was created.
func (r jobRestarts) outdated(job *batchv1.Job) bool {
	if r == nil {
		return false
	}
	counts, index := r[job.Labels[v1alpha2.ReplicatedJobNameKey]], number(job, v1alpha2.JobIndexKey)
	return index >= 0 && int(index) < len(counts) && number(job, v1alpha2.JobRestartsKey) < counts[index]
}

// JobRestart is the restart of one Job.
type JobRestart struct {
	Job *batchv1.Job
	// Action and Reason are those of the rule that requires it.
	Action v1alpha2.FailurePolicyAction
	Reason string
	// Counts reports whether it counts towards maxRestarts.
	Counts bool
	// Rule is the rule that requires it.
	Rule string
}

// CountRestarts returns the tallies with single restarts added. From the first restart on, a counter has a place for every Job of
// its replicatedJob.
func CountRestarts(spec *v1alpha2.JobSetSpec, tallies []v1alpha2.ReplicatedJobStatus, restarts []JobRestart) []v1alpha2.ReplicatedJobStatus {
	counted := slices.Clone(tallies)
	for _, r := range restarts {
		rjob := slices.IndexFunc(counted, func(s v1alpha2.ReplicatedJobStatus) bool {
			return s.Name == r.Job.Labels[v1alpha2.ReplicatedJobNameKey]
		})
		if rjob < 0 {
			continue
		}
		s, index := &counted[rjob], int(number(r.Job, v1alpha2.JobIndexKey))
		s.JobRestarts = incremented(s.JobRestarts, spec.ReplicatedJobs[rjob].Replicas, index)
		if r.Counts {
			s.JobRestartsCountTowardsMax = incremented(s.JobRestartsCountTowardsMax, spec.ReplicatedJobs[rjob].Replicas, index)
		}
	}
	return counted
}

// incremented returns a copy, because counts may belong to a cache.
func incremented(counts []int32, size int32, index int) []int32 {
	grown := make([]int32, max(len(counts), int(min(size, MaxSingleRestarts))))
	copy(grown, counts)
	if index >= 0 && index < len(grown) && grown[index] < math.MaxInt32 {
		grown[index]++
	}
	return grown
}

// Counted returns how many restarts count towards maxRestarts according to the status: those of all Jobs and those of single Jobs.
func Counted(status *v1alpha2.JobSetStatus) int32 {
	sum := int64(status.RestartsCountTowardsMax)
	for i := range status.ReplicatedJobsStatus {
		for _, n := range status.ReplicatedJobsStatus[i].JobRestartsCountTowardsMax {
			sum += int64(n)
		}
	}
	return int32(min(sum, math.MaxInt32))
}
