package policy

import (
	"fmt"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
)

// Unsupported gives the paths of fields that are set and that this controller cannot carry out yet. A JobSet with one of them is
// left alone, because running it otherwise than asked would be worse.
func Unsupported(spec *v1alpha2.JobSetSpec) []string {
	var paths []string
	if len(spec.VolumeClaimPolicies) > 0 {
		paths = append(paths, "spec.volumeClaimPolicies")
	}
	if spec.StartupPolicy != nil && len(spec.StartupPolicy.Rules) > 0 {
		paths = append(paths, "spec.startupPolicy.rules")
	}
	if spec.FailurePolicy != nil {
		paths = append(paths, unsupportedFailurePolicy(spec.FailurePolicy)...)
	}
	return paths
}

func unsupportedFailurePolicy(policy *v1alpha2.FailurePolicy) []string {
	var paths []string
	if policy.RestartStrategy == v1alpha2.InPlaceRestart {
		paths = append(paths, "spec.failurePolicy.restartStrategy: InPlaceRestart")
	}
	for i, rule := range policy.Rules {
		switch rule.Action {
		case v1alpha2.RestartJob, v1alpha2.RestartJobAndIgnoreMaxRestarts:
			paths = append(paths, fmt.Sprintf("spec.failurePolicy.rules[%d].action: %s", i, rule.Action))
		}
	}
	return paths
}
