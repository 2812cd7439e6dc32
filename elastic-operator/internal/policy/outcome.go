package policy

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/holdfast-project/holdfast/elastic-operator/api/v1alpha1"
)

// outcome finishes the job when it has succeeded, has exceeded its deadline, or has had too few workers for settleSeconds.
func (d *decider) outcome() {
	total, completed, abandoned := len(d.m.Indexes), len(d.m.Completed), len(d.abandonedWorkers())
	switch {
	case d.succeeded(total, completed, abandoned):
		d.finish(v1alpha1.JobSucceeded, corev1.EventTypeNormal, v1alpha1.ReasonSucceeded, succeeded(d.Name))
	case d.Settings.Deadline != nil && d.reached(d.m.Started.Add(*d.Settings.Deadline)):
		d.m.Overdue = true
		d.finish(v1alpha1.JobFailed, corev1.EventTypeWarning, v1alpha1.ReasonDeadlineExceeded, overdue(d.Name))
	case total-abandoned < d.Settings.Min:
		d.waitOrFail(fmt.Sprintf("Only %d workers can run and at least %d are required", total-abandoned, d.Settings.Min))
	case completed+abandoned == total:
		d.waitOrFail(fmt.Sprintf("%d of %d workers have completed, which is not enough for success, and no other can run", completed, total))
	default:
		d.m.BelowMin = time.Time{}
	}
}

// succeeded evaluates the success policy. With type All, abandoned workers are ignored because the others continued without them, but at
// least the minimum number of workers must have completed.
func (d *decider) succeeded(total, completed, abandoned int) bool {
	switch policy := d.Settings.Success; policy.Type {
	case v1alpha1.SuccessAny:
		return completed > 0
	case v1alpha1.SuccessPercent:
		return policy.Percent != nil && completed > 0 && completed*100 >= int(*policy.Percent)*total
	default:
		return completed+abandoned == total && completed >= d.Settings.Min
	}
}

// waitOrFail fails the job if too few workers can run for settleSeconds. During this time, further failures with the same cause are
// counted, and increasing the number of replicas prevents the failure.
func (d *decider) waitOrFail(why string) {
	if d.m.BelowMin.IsZero() {
		d.m.BelowMin = d.Now.Truncate(time.Microsecond)
		if d.Settings.Settle > 0 {
			d.event(corev1.EventTypeWarning, "", EventBelowMin, fmt.Sprintf("%s: the job fails in %s", why, d.Settings.Settle))
		}
	}
	if d.reached(d.m.BelowMin.Add(d.Settings.Settle)) {
		d.finish(v1alpha1.JobFailed, corev1.EventTypeNormal, v1alpha1.ReasonFailed, failed(d.Name, int(d.failedWorkers()), "Worker"))
	}
}

func (d *decider) finish(as v1alpha1.JobConditionType, kind, reason, note string) {
	d.m.Ended, d.m.EndedAt = as, d.Now.Truncate(time.Second)
	d.out.After = 0 // drop the deadlines of a running job
	d.event(kind, "", reason, note)
}
