package policy

import (
	"slices"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
)

// Success applies the success policy. A JobSet without a succeeded Job is never complete, even if the policy requires none.
func Success(f Facts) Decision {
	succeeded, expected := targetsOf(f)
	if succeeded == 0 || succeeded < expected {
		return Decision{}
	}
	return Decision{
		Outcome: Complete,
		Reason:  v1alpha2.AllJobsCompletedReason,
		Message: "as many jobs have succeeded as the success policy asks for",
	}
}

// targetsOf returns how many Jobs of the targets have succeeded, and how many must. Without a success policy all must succeed.
func targetsOf(f Facts) (succeeded, expected int64) {
	policy := f.Spec.SuccessPolicy
	if policy == nil {
		policy = &v1alpha2.SuccessPolicy{Operator: v1alpha2.OperatorAll}
	}
	for i, s := range f.Tallies {
		if len(policy.TargetReplicatedJobs) == 0 || slices.Contains(policy.TargetReplicatedJobs, s.Name) {
			succeeded += int64(s.Succeeded)
			expected += int64(f.Spec.ReplicatedJobs[i].Replicas)
		}
	}
	if policy.Operator == v1alpha2.OperatorAny {
		expected = 1
	}
	return succeeded, expected
}
