package policy

import (
	"slices"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
)

// Reported returns the tallies for the status of a JobSet: Jobs of replicatedJobs whose turn has not come are notStarted. Kueue considers the pods
// of a JobSet that it has admitted as a whole ready when Ready and Succeeded of all replicatedJobs add up to all replicas, and evicts the JobSet
// after a timeout if they do not. It reads nothing else, so in a queued JobSet these Jobs count as ready too.
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
