package policy

import (
	"fmt"

	"k8s.io/utils/ptr"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/shared/coordination/epoch"
	"github.com/holdfast-project/holdfast/shared/restart"
)

// BudgetUsed returns the share of maxRestarts that a JobSet has used, whichever program counted the restarts: 1 if its next failure
// is its last. It is 0 for a JobSet that has finished, or that may not restart at all.
func BudgetUsed(js *v1alpha2.JobSet) float64 {
	limit := maxRestarts(&js.Spec)
	if js.Status.TerminalState != "" || limit <= 0 {
		return 0
	}
	current, err := epoch.Of(js.Annotations)
	if err != nil {
		current = epoch.First() // as in the controller
	}
	used := max(Charged(&js.Status, ReadInPlace(js.Annotations), current), attemptsUsed(&js.Status))
	return min(1, float64(used)/float64(limit))
}

// attemptsUsed returns the restarts of the published strategy InPlaceRestart, without the recreations that do not count.
func attemptsUsed(status *v1alpha2.JobSetStatus) int32 {
	uncounted := max(0, status.Restarts-status.RestartsCountTowardsMax)
	return ptr.Deref(status.CurrentInPlaceRestartAttempt, 0) - uncounted
}

// SuspendCause returns the idempotency key of the epoch that a suspend opens.
func SuspendCause(generation int64) string { return fmt.Sprintf("suspend/%d", generation) }

// RestartCause returns the idempotency key of the epoch that a restart of the failure policy opens. restarts is status.restarts
// after the restart.
func RestartCause(restarts int32) string { return fmt.Sprintf("%s%d", RestartCausePrefix, restarts) }

// RestartCausePrefix is the prefix of all such causes.
const RestartCausePrefix = "recreate/"

// Charged returns how many restarts were charged to the budget. With in-place restarts three programs count restarts, and each
// learns of the others' restarts sooner or later, so the largest number is correct. It includes the base of the epoch, which is
// written first.
func Charged(status *v1alpha2.JobSetStatus, p InPlace, current epoch.Record) int32 {
	if !p.Enabled {
		return Counted(status)
	}
	return max(Counted(status), p.Restarts, current.Base)
}

// inPlaceBudget fails a JobSet whose in-place restarts exceed the limit of the failure policy (JobSet KEP-876).
func inPlaceBudget(f Facts) Decision {
	if !Budget(f.Spec).Exceeded(f.InPlace.Restarts) {
		return Decision{}
	}
	return Decision{
		Outcome: Fail,
		Reason:  v1alpha2.ReachedMaxRestartsReason,
		Message: fmt.Sprintf("annotation %s is %d, which exceeds maxRestarts of %d",
			v1alpha2.InPlaceRestartsKey, f.InPlace.Restarts, maxRestarts(f.Spec)),
	}
}

// Budget returns the restart budget of a JobSet. Without a failure policy it is 0.
func Budget(spec *v1alpha2.JobSetSpec) restart.Budget { return restart.Budget(maxRestarts(spec)) }

// maxRestarts returns maxRestarts of the failure policy, 0 without one.
func maxRestarts(spec *v1alpha2.JobSetSpec) int32 {
	if spec.FailurePolicy == nil {
		return 0
	}
	return spec.FailurePolicy.MaxRestarts
}
