package validation

import (
	"fmt"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
)

// Warnings say what may be meant otherwise than written, and is accepted.
func Warnings(js *v1alpha2.JobSet) []string {
	var warnings []string
	for i := range js.Spec.ReplicatedJobs {
		if js.Spec.ReplicatedJobs[i].Template.Spec.TTLSecondsAfterFinished != nil {
			warnings = append(warnings, fmt.Sprintf("spec.replicatedJobs[%d].template.spec.ttlSecondsAfterFinished: a finished job that is deleted "+
				"while the JobSet goes on is created again; use spec.ttlSecondsAfterFinished", i))
		}
	}
	return warnings
}
