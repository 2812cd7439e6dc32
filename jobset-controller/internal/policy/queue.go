package policy

import (
	"slices"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
)

// Queued reports whether Kueue queues the JobSet as a whole: the JobSet has the label of a queue, or was admitted without one, which a
// Kueue that also manages objects without a queue can do. Kueue then counts the pods of spec.replicatedJobs, and no others.
func Queued(js *v1alpha2.JobSet) bool {
	return js.Labels[v1alpha2.QueueNameLabel] != "" || slices.ContainsFunc(js.Spec.ReplicatedJobs, func(rjob v1alpha2.ReplicatedJob) bool {
		return rjob.Template.Spec.Template.Labels[v1alpha2.PodSetLabel] != ""
	})
}
