package policy

import (
	"fmt"
	"strings"
	"time"

	"golang.org/x/sys/unix"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/shared/coordination/epoch"
	"github.com/holdfast-project/holdfast/shared/history"
	"github.com/holdfast-project/holdfast/shared/restart"
)

// BudgetUsed returns the fraction of maxRestarts that a JobSet has used, no matter which program counted the restarts:
// it is 1 if the next failure would be the last. It is 0 for a JobSet that has finished, or that may not restart at
// all.
func BudgetUsed(js *v1alpha2.JobSet) float64 {
	limit := Budget(&js.Spec)
	if js.Status.TerminalState != "" || limit <= 0 {
		return 0
	}
	current, _ := epoch.Of(js.Annotations) // an unreadable epoch counts as the first one, as in the controller
	used := max(Charged(&js.Status, ReadInPlace(js.Annotations), current), attemptsUsed(&js.Status))
	return min(1, float64(used)/float64(limit))
}

// attemptsUsed returns the number of restarts with the upstream strategy InPlaceRestart, without recreations that do
// not count.
func attemptsUsed(status *v1alpha2.JobSetStatus) int32 {
	uncounted := max(0, status.Restarts-status.RestartsCountTowardsMax)
	return ptr.Deref(status.CurrentInPlaceRestartAttempt, 0) - uncounted
}

// SuspendCause returns the idempotency key of the epoch opened by a suspension.
func SuspendCause(generation int64) string { return fmt.Sprintf("suspend/%d", generation) }

// RestartCause returns the idempotency key of the epoch opened by a restart of the failure policy. restarts is the
// value of status.restarts after the restart.
func RestartCause(restarts int32) string { return fmt.Sprintf("%s%d", RestartCausePrefix, restarts) }

// RestartCausePrefix is the common prefix of the causes that RestartCause returns.
const RestartCausePrefix = "recreate/"

// Charged returns how many restarts have been counted against the budget. With in-place restarts, three programs count
// restarts, and each of them eventually includes the restarts that the others counted, so the largest number is
// correct. It includes the base of the epoch, which is written first.
func Charged(status *v1alpha2.JobSetStatus, p InPlace, current epoch.Record) int32 {
	if !p.Enabled {
		return Counted(status)
	}
	return max(Counted(status), p.Restarts, current.Base)
}

// inPlaceBudget fails a JobSet whose in-place restarts exceed the limit of the failure policy. They are counted in an
// annotation (JobSet KEP-876), or by the attempts of restartStrategy InPlaceRestart. Recreations that do not count
// towards maxRestarts also increase the attempts, so they are subtracted.
func inPlaceBudget(f Facts) Decision {
	restarts, budget := f.InPlace.Restarts, Budget(f.Spec)
	if f.Attempts != nil {
		uncounted := max(0, f.Status.Restarts-f.Status.RestartsCountTowardsMax)
		restarts = max(restarts, f.Attempts.ContainerRestarts, f.Attempts.Highest-uncounted)
	}
	if !budget.Exceeded(restarts) {
		return Decision{}
	}
	return Decision{
		Outcome: Fail, Reason: v1alpha2.ReachedMaxRestartsReason,
		Message: fmt.Sprintf("it restarted in place %d times, which exceeds maxRestarts of %d", restarts, budget),
	}
}

// Budget returns the restart budget of a JobSet. Without a failure policy it is 0.
func Budget(spec *v1alpha2.JobSetSpec) restart.Budget {
	if spec.FailurePolicy == nil {
		return 0
	}
	return restart.Budget(spec.FailurePolicy.MaxRestarts)
}

// RecreationCause is the cause kind of a recreation decided by the failure policy.
const RecreationCause = "policy"

// Recreation holds what the controller knows about a recreation of all Jobs. Unknown times are zero: a controller that
// has restarted since then knows only when the recreation was decided.
type Recreation struct {
	FailedAt  time.Time // when the Job that caused the recreation failed
	DecidedAt time.Time
	DownAt    time.Time // when the last old Job disappeared
	Counted   bool
	// Culprit describes the worker that made a Job fail: its pod, its node, and how it exited. Fields may be empty,
	// because the pods may be gone.
	Culprit history.Entry
}

// Account returns the history entry of a completed recreation. It is numbered like the entry of a recreated group, in
// which each recreation opens an epoch. Unknown phases have zero duration, and the remaining time is attributed to the
// start of the new workers, so that the sum is the outage.
func (r Recreation) Account(restarts int32, end time.Time) history.Entry {
	e := r.Culprit
	e.Attempt, e.Kind, e.Counted, e.Cause.Kind = history.Attempt{Epoch: int64(restarts) + 1}, history.Recreation, r.Counted, RecreationCause
	at := r.DecidedAt
	if !r.FailedAt.IsZero() && r.FailedAt.Before(at) {
		at = r.FailedAt
	}
	e.FailedAt = at.UTC().Truncate(time.Millisecond)
	at = e.FailedAt
	until := func(phase history.Phase, moment time.Time) {
		if moment.After(end) {
			moment = end
		}
		if took := moment.Sub(at).Truncate(time.Millisecond); took > 0 {
			e.Took[phase], at = history.Milliseconds(took.Milliseconds()), at.Add(took)
		}
	}
	until(history.Detect, r.DecidedAt)
	until(history.Down, r.DownAt)
	until(history.Start, end)
	return e
}

// FindCulprit returns the worker that failed first, given the pods of a failed Job.
func FindCulprit(jobSet string, pods []corev1.Pod) history.Entry {
	var first *corev1.ContainerStateTerminated
	var of *corev1.Pod
	for i := range pods {
		for _, c := range pods[i].Status.ContainerStatuses {
			for _, t := range []*corev1.ContainerStateTerminated{c.State.Terminated, c.LastTerminationState.Terminated} {
				if t != nil && t.ExitCode != 0 && (first == nil || t.FinishedAt.Before(&first.FinishedAt)) {
					first, of = t, &pods[i]
				}
			}
		}
	}
	if first == nil {
		return history.Entry{}
	}
	return history.Entry{Worker: workerOf(of), Pod: podOf(jobSet, of), Node: of.Spec.NodeName, Cause: exitOf(first)}
}

// workerOf returns replicatedJob, job index and pod index, joined by dashes.
func workerOf(pod *corev1.Pod) string {
	parts := []string{pod.Annotations[v1alpha2.ReplicatedJobNameKey], pod.Annotations[v1alpha2.JobIndexKey]}
	if index := pod.Annotations[batchv1.JobCompletionIndexAnnotation]; index != "" {
		parts = append(parts, index)
	}
	return strings.Join(parts, "-")
}

// podOf returns the part of a pod's name that follows the name of its worker.
func podOf(jobSet string, pod *corev1.Pod) string {
	return strings.TrimPrefix(pod.Name, jobSet+"-"+workerOf(pod)+"-")
}

// signalled is added by runtimes to the number of the signal that ended a container, to form an exit code.
const signalled = 128

func exitOf(t *corev1.ContainerStateTerminated) history.Cause {
	c := history.Cause{ExitCode: int64(t.ExitCode), Reason: history.ReasonOf(t.Reason)}
	if t.ExitCode > signalled {
		c.Signal = unix.SignalName(unix.Signal(t.ExitCode - signalled))
	}
	return c
}
