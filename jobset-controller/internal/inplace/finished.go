package inplace

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/policy"
	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/leader/workload"
)

// FinishedSlots returns the slots of a Job whose worker has succeeded, based on the Job's completed indexes ("0,2-4").
// It skips unreadable parts; the group then waits for their slots.
func FinishedSlots(jobSet string, job *batchv1.Job) []string {
	var slots []string
	prefix := fmt.Sprintf("%s-%s-%s-", jobSet, job.Labels[v1alpha2.ReplicatedJobNameKey], job.Labels[v1alpha2.JobIndexKey])
	for _, r := range Indexes(job.Status.CompletedIndexes) {
		for i := r[0]; i <= r[1]; i++ {
			slots = append(slots, prefix+strconv.Itoa(i))
		}
	}
	return slots
}

// SlotsBeyond returns the slots for which a completed Job never had pods, because its replicatedJob was enlarged after
// the Job had completed (ElasticJobSet feature gate). No worker will join for these slots.
func SlotsBeyond(jobSet string, job *batchv1.Job, stages []coordination.Stage) []string {
	if !policy.Finished(job) || policy.FailureOf(job) != nil {
		return nil
	}
	prefix := jobSet + "-" + job.Labels[v1alpha2.ReplicatedJobNameKey]
	at := slices.IndexFunc(stages, func(s coordination.Stage) bool { return s.Prefix == prefix })
	index := indexOf(job)
	if at < 0 || int64(index) >= stages[at].Jobs {
		return nil
	}
	var slots []string
	for pod := int64(policy.PodsOf(&job.Spec)); pod < stages[at].Pods; pod++ {
		slots = append(slots, stages[at].Slot(int64(index), pod))
	}
	return slots
}

// maxIndex is higher than the API's limit for completion indexes.
const maxIndex = 1 << 20

// Indexes parses a list of completion indexes in the format of the Job controller ("0,2-4"). It skips unreadable parts.
func Indexes(list string) workload.Indexes {
	var set workload.Indexes
	for part := range strings.SplitSeq(list, ",") {
		from, to, isRange := strings.Cut(part, "-")
		if !isRange {
			to = from
		}
		first, err := strconv.Atoi(from)
		last, lastErr := strconv.Atoi(to)
		if err == nil && lastErr == nil && first >= 0 && last <= maxIndex {
			set = append(set, [2]int{first, last})
		}
	}
	return set
}
