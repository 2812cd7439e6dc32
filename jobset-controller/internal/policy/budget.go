package policy

import (
	"fmt"

	"k8s.io/utils/ptr"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/shared/coordination/epoch"
	"github.com/holdfast-project/holdfast/shared/restart"
)

// BudgetUsed is the share of maxRestarts that a JobSet has used, whoever counted: 1 when its next failure is its last. One that has
// finished, or that may not restart at all, has no budget, and 0 used.
func BudgetUsed(js *v1alpha2.JobSet) float64 {
	limit := maxRestarts(&js.Spec)
	if js.Status.TerminalState != "" || limit <= 0 {
		return 0
	}
	current, err := epoch.Of(js.Annotations)
	if err != nil {
		current = epoch.First() // as the controller takes it
	}
	used := max(Charged(&js.Status, ReadInPlace(js.Annotations), current), attemptsUsed(&js.Status))
	return min(1, float64(used)/float64(limit))
}

// attemptsUsed are restarts of the published strategy InPlaceRestart, recreations that do not count left out.
func attemptsUsed(status *v1alpha2.JobSetStatus) int32 {
	uncounted := max(0, status.Restarts-status.RestartsCountTowardsMax)
	return ptr.Deref(status.CurrentInPlaceRestartAttempt, 0) - uncounted
}

// SuspendCause is the idempotency key of the epoch that a suspend opens.
func SuspendCause(generation int64) string { return fmt.Sprintf("suspend/%d", generation) }

// RestartCause is the idempotency key of the epoch that a restart of the failure policy opens. restarts is status.restarts as
// it will be after it.
func RestartCause(restarts int32) string { return fmt.Sprintf("%s%d", RestartCausePrefix, restarts) }

// RestartCausePrefix begins all such causes.
const RestartCausePrefix = "recreate/"

// Charged is the number of restarts that the budget has paid for. With in-place restarts three programs count; each knows of
// the others' restarts sooner or later, so the largest number is the truth. The base of the epoch is among them because it is
// written first.
func Charged(status *v1alpha2.JobSetStatus, p InPlace, current epoch.Record) int32 {
	if !p.Enabled {
		return Counted(status)
	}
	return max(Counted(status), p.Restarts, current.Base)
}

// inPlaceBudget fails a JobSet whose in-place restarts have used up more than the failure policy allows (seed 000).
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

// Budget is what a JobSet may restart; no failure policy allows no restart.
func Budget(spec *v1alpha2.JobSetSpec) restart.Budget { return restart.Budget(maxRestarts(spec)) }

// maxRestarts without a failure policy is 0.
func maxRestarts(spec *v1alpha2.JobSetSpec) int32 {
	if spec.FailurePolicy == nil {
		return 0
	}
	return spec.FailurePolicy.MaxRestarts
}
