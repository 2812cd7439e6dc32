package policy

import (
	"math"
	"slices"
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
)

// MaxSingleRestarts is the maximum number of Jobs in a replicatedJob whose Jobs restart individually, because the
// status has a counter for each of them.
const MaxSingleRestarts = 1024

// JobRestarts returns how often single Jobs were restarted, by replicatedJob and Job index.
func JobRestarts(status *v1alpha2.JobSetStatus) map[string][]int32 {
	restarts := make(map[string][]int32, len(status.ReplicatedJobsStatus))
	for i := range status.ReplicatedJobsStatus {
		restarts[status.ReplicatedJobsStatus[i].Name] = status.ReplicatedJobsStatus[i].JobRestarts
	}
	return restarts
}

// outdated reports whether a Job has been replaced since it was created, given the restarts of its replicatedJob's
// Jobs.
func outdated(job *batchv1.Job, restarts []int32) bool {
	index := number(job, v1alpha2.JobIndexKey)
	return index >= 0 && int(index) < len(restarts) && number(job, v1alpha2.JobRestartsKey) < restarts[index]
}

// CountRestarts returns the tallies with single restarts added. From the first restart on, a counter has an element for
// every Job of its replicatedJob.
func CountRestarts(spec *v1alpha2.JobSetSpec, tallies []v1alpha2.ReplicatedJobStatus, restarts []Ruling) []v1alpha2.ReplicatedJobStatus {
	counted := slices.Clone(tallies)
	for _, r := range restarts {
		rjob := slices.IndexFunc(counted, func(s v1alpha2.ReplicatedJobStatus) bool {
			return s.Name == r.Job.Labels[v1alpha2.ReplicatedJobNameKey]
		})
		if rjob < 0 {
			continue
		}
		s, index := &counted[rjob], int(number(r.Job, v1alpha2.JobIndexKey))
		s.JobRestarts = incremented(s.JobRestarts, spec.ReplicatedJobs[rjob].Replicas, index)
		if r.Counts() {
			s.JobRestartsCountTowardsMax = incremented(s.JobRestartsCountTowardsMax, spec.ReplicatedJobs[rjob].Replicas, index)
		}
	}
	return counted
}

// incremented returns an incremented copy, because counts may belong to a cache.
func incremented(counts []int32, size int32, index int) []int32 {
	grown := make([]int32, max(len(counts), int(min(size, MaxSingleRestarts))))
	copy(grown, counts)
	if index >= 0 && index < len(grown) && grown[index] < math.MaxInt32 {
		grown[index]++
	}
	return grown
}

// Counted returns how many restarts count towards maxRestarts according to the status: those of all Jobs and those of single Jobs.
func Counted(status *v1alpha2.JobSetStatus) int32 {
	sum := int64(status.RestartsCountTowardsMax)
	for i := range status.ReplicatedJobsStatus {
		for _, n := range status.ReplicatedJobsStatus[i].JobRestartsCountTowardsMax {
			sum += int64(n)
		}
	}
	return int32(min(sum, math.MaxInt32))
}

// Agents in the pods implement restartStrategy InPlaceRestart. They follow the status of the JobSet:
//
//	agent starts                      sets the attempt current+1 on its pod (0 if there is no current one)
//	all pods have the same attempt    it becomes current: the agents start their workers
//	one has a higher attempt          that attempt minus one becomes previous: pods at or below it restart and join
//
// This is the upstream protocol. Unlike the upstream controller, this one counts pods only if their Job belongs to the
// JobSet by UID, and does not wait for pods that have succeeded or are being deleted.

// UsesAttempts reports whether agents in the pods follow the attempts in the status.
func UsesAttempts(spec *v1alpha2.JobSetSpec) bool {
	return spec.FailurePolicy != nil && spec.FailurePolicy.RestartStrategy == v1alpha2.InPlaceRestart
}

// Attempts summarizes the attempts that the pods of a JobSet report.
type Attempts struct {
	// Expected is how many pods must report the same attempt before their workers run.
	Expected int64
	// Said lists the attempts reported by pods that are running or will run.
	Said []int32
	// Highest is the highest attempt, or -1 if there is none.
	Highest int32
	// ContainerRestarts is the highest restart count of any container.
	ContainerRestarts int32
}

// ReadAttempts reads the attempts of pods of current Jobs. It ignores other pods, regardless of their labels.
func ReadAttempts(spec *v1alpha2.JobSetSpec, jobs Jobs, pods []corev1.Pod) Attempts {
	a := Attempts{Expected: Workers(spec), Highest: -1}
	current := map[types.UID]bool{}
	for _, job := range jobs.Current() {
		current[job.UID] = true
		a.Expected -= int64(job.Status.Succeeded)
	}
	for i := range pods {
		if owner := metav1.GetControllerOf(&pods[i]); owner != nil && current[owner.UID] {
			a.add(&pods[i])
		}
	}
	return a
}

func (a *Attempts) add(pod *corev1.Pod) {
	if !Lives(pod) {
		return
	}
	for _, list := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for i := range list {
			a.ContainerRestarts = max(a.ContainerRestarts, list[i].RestartCount)
		}
	}
	attempt, err := strconv.ParseInt(pod.Annotations[v1alpha2.InPlaceAttemptKey], 10, 32)
	if err != nil || attempt < 0 {
		return
	}
	a.Said = append(a.Said, int32(attempt))
	a.Highest = max(a.Highest, int32(attempt))
}

// Agreed reports whether all expected pods report the same attempt.
func (a Attempts) Agreed() bool {
	other := func(attempt int32) bool { return attempt != a.Highest }
	return a.Expected > 0 && int64(len(a.Said)) == a.Expected && !slices.ContainsFunc(a.Said, other)
}

// Next returns the new attempts of the status. Neither of them decreases, except that a suspended JobSet starts over,
// because pods stopped by a queue have not failed.
func (a Attempts) Next(status *v1alpha2.JobSetStatus, suspended bool) (previous, current *int32) {
	previous, current = status.PreviousInPlaceRestartAttempt, status.CurrentInPlaceRestartAttempt
	switch {
	case suspended && len(a.Said) == 0:
		return nil, nil
	case suspended:
	case a.Agreed():
		current = ptr.To(max(ptr.Deref(current, 0), a.Highest))
	case a.Highest > 0:
		previous = ptr.To(max(ptr.Deref(previous, 0), a.Highest-1))
	}
	return previous, current
}

// Restarting reports whether the pods have started a restart that is not complete yet.
func (a Attempts) Restarting() bool { return a.Highest > 0 && !a.Agreed() }
