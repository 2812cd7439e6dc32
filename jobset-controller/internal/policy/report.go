package policy

import (
	"slices"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
)

// Reported are the tallies as the status of a JobSet shows them that Kueue has admitted as a whole. Kueue takes its pods for
// ready when the Ready and Succeeded of all entries add up to all replicas, and evicts it after a while if they do not. An entry
// whose turn has not come has nothing to be ready with, so it is shown as ready until it starts: all that may run then does.
func Reported(spec *v1alpha2.JobSetSpec, tallies []v1alpha2.ReplicatedJobStatus, gates []bool) []v1alpha2.ReplicatedJobStatus {
	shown := slices.Clone(tallies)
	for i := range shown {
		if s := &shown[i]; !gates[i] && s.Ready+s.Succeeded+s.Failed+s.Active == 0 {
			s.Ready = spec.ReplicatedJobs[i].Replicas
		}
	}
	return shown
}
