package plan

import (
	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
)

// DefaultGroup is the group of entries that name none.
const DefaultGroup = "default"

// Layout numbers the Jobs of a JobSet through all entries and through each group. It is computed once for all Jobs, so that
// building J Jobs costs O(J).
type Layout struct {
	total  int64
	groups map[string]int64
	starts []start
	// single restarts by entry and Job index.
	single [][]int32
}

// start is what lies before the first Job of an entry.
type start struct{ global, group int64 }

// NewLayout numbers the Jobs of a JobSet.
func NewLayout(js *v1alpha2.JobSet) Layout {
	spec := &js.Spec
	l := Layout{single: singleRestarts(js), groups: map[string]int64{}, starts: make([]start, len(spec.ReplicatedJobs))}
	for i := range spec.ReplicatedJobs {
		entry := &spec.ReplicatedJobs[i]
		group := groupOf(entry)
		l.starts[i] = start{global: l.total, group: l.groups[group]}
		l.total += int64(entry.Replicas)
		l.groups[group] += int64(entry.Replicas)
	}
	return l
}

func groupOf(entry *v1alpha2.ReplicatedJob) string {
	if entry.GroupName == "" {
		return DefaultGroup
	}
	return entry.GroupName
}

func singleRestarts(js *v1alpha2.JobSet) [][]int32 {
	byName := make(map[string][]int32, len(js.Status.ReplicatedJobsStatus))
	for i := range js.Status.ReplicatedJobsStatus {
		byName[js.Status.ReplicatedJobsStatus[i].Name] = js.Status.ReplicatedJobsStatus[i].JobRestarts
	}
	counts := make([][]int32, len(js.Spec.ReplicatedJobs))
	for i := range counts {
		counts[i] = byName[js.Spec.ReplicatedJobs[i].Name]
	}
	return counts
}

// restartsOf a single Job.
func (l Layout) restartsOf(entryIndex, index int) int32 {
	if counts := l.single[entryIndex]; index < len(counts) {
		return counts[index]
	}
	return 0
}
