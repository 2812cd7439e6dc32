package policy

import (
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
)

// failure applies the failure policy to the failed Jobs: the first rule that matches any of them decides, for the earliest that it
// matches; without a match the JobSet restarts for the earliest of all.
func failure(f Facts) Decision {
	if len(f.Jobs.Failed) == 0 {
		return Decision{}
	}
	failed := byTimeOfFailure(f.Jobs.Failed)
	if f.Spec.FailurePolicy == nil {
		return fail(v1alpha2.FailedJobsReason, failed[0], "the JobSet has no failure policy")
	}
	rule, job := firstMatch(f.Spec.FailurePolicy.Rules, failed)
	switch rule.action {
	case v1alpha2.FailJobSet:
		return fail(v1alpha2.FailJobSetActionReason, job, fmt.Sprintf("rule %s of the failure policy fails the JobSet", rule.name))
	case v1alpha2.RestartJobSetAndIgnoreMaxRestarts:
		return restartFor(rule, job)
	default:
		return restartWithinBudget(f, rule, job)
	}
}

func restartWithinBudget(f Facts, rule chosenRule, job *batchv1.Job) Decision {
	charged := Charged(f.Status, f.InPlace, f.Epoch)
	// A crash between the epoch and the status leaves a restart that was charged but not begun: it is not charged again.
	begun := f.InPlace.Enabled && f.Epoch.Cause == RestartCause(f.Status.Restarts+1)
	if !begun && !Budget(f.Spec).Allows(charged) {
		return fail(v1alpha2.ReachedMaxRestartsReason, job,
			fmt.Sprintf("%d restarts were counted and maxRestarts is %d", charged, maxRestarts(f.Spec)))
	}
	d := restartFor(rule, job)
	d.Counts = true
	return d
}

func restartFor(rule chosenRule, job *batchv1.Job) Decision {
	return Decision{
		Outcome: Restart,
		Reason:  rule.reason(),
		Message: fmt.Sprintf("all jobs are recreated because %s", describe(job)),
		Action:  rule.action,
		Job:     job,
	}
}

func fail(reason string, job *batchv1.Job, why string) Decision {
	return Decision{Outcome: Fail, Reason: reason, Message: describe(job) + "; " + why, Job: job}
}

func describe(job *batchv1.Job) string {
	c := FailedCondition(job)
	return fmt.Sprintf("job %s failed with %s: %s", job.Name, c.Reason, c.Message)
}

// byTimeOfFailure sorts the earliest first; names break ties, so that every look at the same Jobs gives the same answer.
func byTimeOfFailure(failed []*batchv1.Job) []*batchv1.Job {
	return slices.SortedFunc(slices.Values(failed), func(a, b *batchv1.Job) int {
		at, bt := FailedCondition(a).LastTransitionTime, FailedCondition(b).LastTransitionTime
		switch {
		case at.Before(&bt):
			return -1
		case bt.Before(&at):
			return 1
		case a.Name < b.Name:
			return -1
		}
		return 1
	})
}
