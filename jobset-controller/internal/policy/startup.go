package policy

import (
	"k8s.io/utils/ptr"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
)

// Gates says for each entry of spec.replicatedJobs, in order, whether its Jobs may be created and run. While the JobSet is
// suspended only dependsOn holds entries back: Jobs that do not run cannot start out of order.
func Gates(spec *v1alpha2.JobSetSpec, statuses []v1alpha2.ReplicatedJobStatus) []bool {
	ordered := InOrder(spec) && !ptr.Deref(spec.Suspend, false)
	open := make([]bool, len(spec.ReplicatedJobs))
	reached := make(map[string]progress, len(spec.ReplicatedJobs))
	earlierStarted := true
	for i := range spec.ReplicatedJobs {
		entry := &spec.ReplicatedJobs[i]
		now := progressOf(entry.Replicas, statuses[i])
		open[i] = dependenciesMet(entry.DependsOn, reached) && (earlierStarted || !ordered)
		reached[entry.Name] = now
		earlierStarted = earlierStarted && now.started
	}
	return open
}

// AllStarted tells whether every entry has started.
func AllStarted(spec *v1alpha2.JobSetSpec, statuses []v1alpha2.ReplicatedJobStatus) bool {
	for i := range spec.ReplicatedJobs {
		if !progressOf(spec.ReplicatedJobs[i].Replicas, statuses[i]).started {
			return false
		}
	}
	return true
}

// InOrder tells whether entries start one after the other.
func InOrder(spec *v1alpha2.JobSetSpec) bool {
	return spec.StartupPolicy != nil && spec.StartupPolicy.StartupPolicyOrder == v1alpha2.InOrder
}

// progress of an entry. Failed Jobs count as started: what follows them is for the failure policy to say.
type progress struct{ started, complete bool }

func progressOf(replicas int32, s v1alpha2.ReplicatedJobStatus) progress {
	return progress{started: s.Ready+s.Succeeded+s.Failed >= replicas, complete: s.Succeeded >= replicas}
}

// dependenciesMet is false for a name that no earlier entry has.
func dependenciesMet(dependencies []v1alpha2.DependsOn, reached map[string]progress) bool {
	for _, d := range dependencies {
		p := reached[d.Name]
		if d.Status == v1alpha2.DependencyComplete && !p.complete {
			return false
		}
		if !p.started {
			return false
		}
	}
	return true
}
