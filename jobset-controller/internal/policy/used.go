package policy

import (
	"k8s.io/utils/ptr"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/shared/coordination/epoch"
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
