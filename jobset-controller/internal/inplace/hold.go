package inplace

import (
	"slices"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/policy"
	"github.com/holdfast-project/holdfast/shared/coordination"
)

// hold sets how long the finished workers of each stage are held, so that a restart can run them again: until the success policy is
// satisfied, or until a gate that waits for their completion.
func hold(stages []coordination.Stage, spec *v1alpha2.JobSetSpec, counted []int) {
	awaited := completionsAwaited(spec)
	for i, rjob := range counted {
		name := spec.ReplicatedJobs[rjob].Name
		stages[i].Release = releaseOf(spec.SuccessPolicy, name, awaited[name])
	}
}

// releaseOf returns the release of a replicatedJob. With the operator Any one successful Job completes the JobSet, so nothing may
// hold it back. A gate that does not open would hold up everything after it.
func releaseOf(success *v1alpha2.SuccessPolicy, rjob string, awaited bool) coordination.Release {
	target := success == nil || len(success.TargetReplicatedJobs) == 0 || slices.Contains(success.TargetReplicatedJobs, rjob)
	switch {
	case target && success != nil && success.Operator == v1alpha2.OperatorAny:
		return coordination.ReleaseFree
	case awaited:
		return coordination.ReleaseGate
	case target:
		return coordination.ReleaseNeeded
	}
	return coordination.ReleaseHeld
}

// completionsAwaited returns the replicatedJobs for whose completion others wait.
func completionsAwaited(spec *v1alpha2.JobSetSpec) map[string]bool {
	awaited := map[string]bool{}
	for i, wait := range policy.StartupWaits(spec) {
		if wait == v1alpha2.WaitForSucceeded {
			awaited[spec.ReplicatedJobs[i].Name] = true
		}
	}
	for i := range spec.ReplicatedJobs {
		for _, d := range spec.ReplicatedJobs[i].DependsOn {
			if d.Status == v1alpha2.DependencyComplete {
				awaited[d.Name] = true
			}
		}
	}
	return awaited
}
