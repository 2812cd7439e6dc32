package policy

import (
	"cmp"
	"slices"

	"k8s.io/utils/ptr"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
)

// Gates returns for each replicatedJob, in order, whether its Jobs may be created and run. While the JobSet is
// suspended, replicatedJobs are only held back by dependsOn: Jobs that are not running cannot start out of order.
func Gates(spec *v1alpha2.JobSetSpec, statuses []v1alpha2.ReplicatedJobStatus) []bool {
	ordered := InOrder(spec) && !ptr.Deref(spec.Suspend, false)
	waits := StartupWaits(spec)
	open := make([]bool, len(spec.ReplicatedJobs))
	reached := make(map[string]progress, len(spec.ReplicatedJobs))
	earlierStarted := true
	for i := range spec.ReplicatedJobs {
		rjob := &spec.ReplicatedJobs[i]
		now := progressOf(rjob.Replicas, statuses[i])
		open[i] = dependenciesMet(rjob.DependsOn, reached) && (earlierStarted || !ordered)
		reached[rjob.Name] = now
		earlierStarted = earlierStarted && now.reached(waits[i])
	}
	return open
}

// AllBegun reports whether every replicatedJob has become ready or finished, possibly with a failure.
func AllBegun(spec *v1alpha2.JobSetSpec, statuses []v1alpha2.ReplicatedJobStatus) bool {
	for i := range spec.ReplicatedJobs {
		if !progressOf(spec.ReplicatedJobs[i].Replicas, statuses[i]).finished {
			return false
		}
	}
	return true
}

// passed reports for each replicatedJob, in order, whether all its Jobs must have succeeded because a replicatedJob
// that waits for this has started.
func passed(spec *v1alpha2.JobSetSpec, jobs Jobs) []bool {
	waits := StartupWaits(spec)
	is := make([]bool, len(spec.ReplicatedJobs))
	begun := begunReplicatedJobs(jobs)
	depended := map[string]bool{}
	later := false
	for i := len(spec.ReplicatedJobs) - 1; i >= 0; i-- {
		rjob := &spec.ReplicatedJobs[i]
		is[i] = depended[rjob.Name] || later && waits[i] == v1alpha2.WaitForSucceeded
		if !is[i] && !begun[rjob.Name] {
			continue
		}
		later = true
		for _, d := range rjob.DependsOn {
			if d.Status == v1alpha2.DependencyComplete {
				depended[d.Name] = true
			}
		}
	}
	return is
}

// begunReplicatedJobs returns the replicatedJobs with a Job that is running or has finished.
func begunReplicatedJobs(jobs Jobs) map[string]bool {
	begun := map[string]bool{}
	for _, job := range jobs.Current() {
		if Finished(job) || !ptr.Deref(job.Spec.Suspend, false) {
			begun[job.Labels[v1alpha2.ReplicatedJobNameKey]] = true
		}
	}
	return begun
}

// InOrder reports whether replicatedJobs start one after another.
func InOrder(spec *v1alpha2.JobSetSpec) bool {
	return spec.StartupPolicy != nil && spec.StartupPolicy.StartupPolicyOrder == v1alpha2.InOrder
}

// StartupWaits returns the status that each replicatedJob, in order, must reach before the next one starts in an
// ordered start. A replicatedJob without a rule must be ready. The result is not written to the spec, because typed
// clients would drop it.
func StartupWaits(spec *v1alpha2.JobSetSpec) []v1alpha2.WaitForReplicatedJobsStatus {
	waits := make([]v1alpha2.WaitForReplicatedJobsStatus, len(spec.ReplicatedJobs))
	for i := range waits {
		waits[i] = v1alpha2.WaitForReady
		if !InOrder(spec) {
			continue
		}
		for _, rule := range slices.Backward(spec.StartupPolicy.Rules) { // the first one applies
			if slices.Contains(rule.TargetReplicatedJobs, spec.ReplicatedJobs[i].Name) {
				waits[i] = cmp.Or(rule.WaitForReplicatedJobsStatus, waits[i])
			}
		}
	}
	return waits
}

// Blocker returns the first replicatedJob that delays an ordered start, and the status that it has not reached yet. The
// last replicatedJob must become ready. Both results are empty if no replicatedJob delays the start.
func Blocker(spec *v1alpha2.JobSetSpec, statuses []v1alpha2.ReplicatedJobStatus) (rjob string, wait v1alpha2.WaitForReplicatedJobsStatus) {
	for i, wait := range StartupWaits(spec) {
		if !progressOf(spec.ReplicatedJobs[i].Replicas, statuses[i]).reached(wait) {
			return spec.ReplicatedJobs[i].Name, wait
		}
	}
	return "", ""
}

// progress records which states a replicatedJob has reached.
type progress struct{ finished, ready, complete bool }

// progressOf returns the progress of a replicatedJob. Failed Jobs count as finished but not as ready, because the
// failure policy decides how to handle them.
func progressOf(replicas int32, s v1alpha2.ReplicatedJobStatus) progress {
	return progress{
		finished: s.Ready+s.Succeeded+s.Failed >= replicas,
		ready:    s.Ready+s.Succeeded >= replicas,
		complete: s.Succeeded >= replicas,
	}
}

func (p progress) reached(wait v1alpha2.WaitForReplicatedJobsStatus) bool {
	if wait == v1alpha2.WaitForSucceeded {
		return p.complete
	}
	return p.ready
}

// dependenciesMet reports whether all dependencies have reached the required status. A dependency without an earlier
// replicatedJob of that name is not met. For Ready, failed Jobs count as well, as they do in the upstream controller.
func dependenciesMet(dependencies []v1alpha2.DependsOn, reached map[string]progress) bool {
	for _, d := range dependencies {
		p := reached[d.Name]
		if !p.finished || d.Status == v1alpha2.DependencyComplete && !p.complete {
			return false
		}
	}
	return true
}
