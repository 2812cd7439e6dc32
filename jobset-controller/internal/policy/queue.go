package policy

import (
	"slices"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
)

// Queued reports whether Kueue queues the JobSet as a whole: the JobSet has a queue label, or was admitted without one,
// which is possible if Kueue also manages objects without a queue. Kueue then counts only the pods of
// spec.replicatedJobs.
func Queued(js *v1alpha2.JobSet) bool {
	return js.Labels[v1alpha2.QueueNameLabel] != "" || slices.ContainsFunc(js.Spec.ReplicatedJobs, func(rjob v1alpha2.ReplicatedJob) bool {
		return rjob.Template.Spec.Template.Labels[v1alpha2.PodSetLabel] != ""
	})
}
