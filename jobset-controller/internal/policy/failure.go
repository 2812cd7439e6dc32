package policy

import (
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
)

// failure applies the failure policy to all failed Jobs at once. Outcomes for the whole JobSet have priority over restarts of
// single Jobs, which they make pointless and which are then not charged.
func failure(f Facts) Decision {
	if len(f.Jobs.Failed) == 0 {
		return Decision{}
	}
	failed := byTimeOfFailure(f.Jobs.Failed)
	if f.Spec.FailurePolicy == nil {
		return fail(v1alpha2.FailedJobsReason, failed[0], "the JobSet has no failure policy")
	}
	rulings := judge(f, failed)
	for _, r := range rulings {
		if !restartsAlone(f.Spec, r) {
			return forAll(f, r.rule, r.job)
		}
	}
	return restartJobs(f, rulings)
}

// forAll returns what a rule does to the whole JobSet.
func forAll(f Facts, rule chosenRule, job *batchv1.Job) Decision {
	switch rule.action {
	case v1alpha2.FailJobSet:
		return fail(v1alpha2.FailJobSetActionReason, job, fmt.Sprintf("rule %s of the failure policy fails the JobSet", rule.name))
	case v1alpha2.RestartJobSetAndIgnoreMaxRestarts, v1alpha2.RestartJobAndIgnoreMaxRestarts:
		return restartFor(rule, job)
	default:
		return restartWithinBudget(f, rule, job)
	}
}

// restartsAlone reports whether a ruling concerns only one Job. If the status has no counter for the Job, which admission rejects,
// the Job cannot be restarted alone, and all Jobs are.
func restartsAlone(spec *v1alpha2.JobSetSpec, r ruling) bool {
	known := slices.ContainsFunc(spec.ReplicatedJobs, func(e v1alpha2.ReplicatedJob) bool {
		return e.Name == r.job.Labels[v1alpha2.ReplicatedJobNameKey]
	})
	index := number(r.job, v1alpha2.JobIndexKey)
	return r.rule.single() && known && index >= 0 && index < MaxSingleRestarts
}

func restartJobs(f Facts, rulings []ruling) Decision {
	charged := Charged(f.Status, f.InPlace, f.Epoch)
	d := Decision{Outcome: RestartJobs, Reason: rulings[0].rule.reason(), Action: rulings[0].rule.action, Job: rulings[0].job}
	for _, r := range rulings {
		counts := r.rule.action == v1alpha2.RestartJob
		if counts && !Budget(f.Spec).Allows(charged) {
			return exhausted(f.Spec, charged, r.job)
		}
		if counts {
			charged++
		}
		d.Restarts = append(d.Restarts, JobRestart{
			Job: r.job, Action: r.rule.action, Reason: r.rule.reason(), Counts: counts, Rule: r.rule.name})
	}
	d.Message = "recreating only this Job because " + describe(d.Job)
	if more := len(rulings) - 1; more > 0 {
		d.Message = fmt.Sprintf("%s; also recreating %d more failed Jobs", d.Message, more)
	}
	return d
}

func restartWithinBudget(f Facts, rule chosenRule, job *batchv1.Job) Decision {
	charged := Charged(f.Status, f.InPlace, f.Epoch)
	// A crash between writing the epoch and the status leaves a restart that was charged but not started. It is not charged again.
	begun := f.InPlace.Enabled && f.Epoch.Cause == RestartCause(f.Status.Restarts+1)
	if !begun && !Budget(f.Spec).Allows(charged) {
		return exhausted(f.Spec, charged, job)
	}
	d := restartFor(rule, job)
	d.Counts = true
	return d
}

func exhausted(spec *v1alpha2.JobSetSpec, charged int32, job *batchv1.Job) Decision {
	return fail(v1alpha2.ReachedMaxRestartsReason, job,
		fmt.Sprintf("%d restarts were counted and maxRestarts is %d", charged, maxRestarts(spec)))
}

func restartFor(rule chosenRule, job *batchv1.Job) Decision {
	return Decision{
		Outcome: Restart,
		Reason:  rule.reason(),
		Message: fmt.Sprintf("recreating all Jobs because %s", describe(job)),
		Action:  rule.action,
		Rule:    rule.name,
		Job:     job,
	}
}

func fail(reason string, job *batchv1.Job, why string) Decision {
	return Decision{Outcome: Fail, Reason: reason, Message: describe(job) + "; " + why, Job: job}
}

func describe(job *batchv1.Job) string {
	c := FailureOf(job)
	return fmt.Sprintf("job %s failed with %s: %s", job.Name, c.Reason, c.Message)
}

// byTimeOfFailure sorts the earliest failure first. Names break ties, so that the order is deterministic.
func byTimeOfFailure(failed []*batchv1.Job) []*batchv1.Job {
	return slices.SortedFunc(slices.Values(failed), func(a, b *batchv1.Job) int {
		at, bt := FailureOf(a).LastTransitionTime, FailureOf(b).LastTransitionTime
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
