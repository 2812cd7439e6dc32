package policy

import (
	"fmt"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
)

// PlacedByWebhook returns what requests exclusive placement by the webhook for pods: the JobSet, or replicatedJobs by their path.
func PlacedByWebhook(js *v1alpha2.JobSet) []string {
	if exclusiveByWebhook(js.Annotations) {
		return []string{"the JobSet"}
	}
	var paths []string
	for i := range js.Spec.ReplicatedJobs {
		if exclusiveByWebhook(js.Spec.ReplicatedJobs[i].Template.Annotations) {
			paths = append(paths, fmt.Sprintf("spec.replicatedJobs[%d].template", i))
		}
	}
	return paths
}

func exclusiveByWebhook(annotations map[string]string) bool {
	_, exclusive := annotations[v1alpha2.ExclusiveKey]
	_, byNodeSelector := annotations[v1alpha2.NodeSelectorStrategyKey]
	return exclusive && !byNodeSelector
}
