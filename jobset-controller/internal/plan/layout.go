package plan

import (
	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
)

const defaultGroup = "default"

// Layout numbers the Jobs of a JobSet through all entries and through each group. It is computed once for all Jobs, so that
// building J Jobs costs O(J).
type Layout struct {
	total  int64
	groups map[string]int64
	starts []start
}

// start is what lies before the first Job of an entry.
type start struct{ global, group int64 }

// NewLayout numbers the Jobs of spec.
func NewLayout(spec *v1alpha2.JobSetSpec) Layout {
	l := Layout{groups: map[string]int64{}, starts: make([]start, len(spec.ReplicatedJobs))}
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
		return defaultGroup
	}
	return entry.GroupName
}
