package policy

import (
	"fmt"
	"time"

	"github.com/holdfast-project/holdfast/elastic-operator/api/v1alpha1"
)

// outcome ends the job when it has succeeded, is overdue, or has had too few workers for the settle window.
func (d *decider) outcome() {
	total, done, dead := len(d.m.Indexes), len(d.m.Completed), d.deadWorkers()
	switch {
	case d.succeeded(total, done, dead):
		d.finish(v1alpha1.JobSucceeded, Event{Reason: v1alpha1.ReasonSucceeded, Note: succeeded(d.Name)})
	case d.overdue():
		d.m.Overdue = true
		d.finish(v1alpha1.JobFailed, Event{Warning: true, Reason: v1alpha1.ReasonDeadlineExceeded, Note: overdue(d.Name)})
	case total-dead < d.Settings.Min, done+dead == total:
		d.settle(total - dead)
	default:
		d.m.BelowMin = time.Time{}
	}
}

// succeeded: workers that were given up do not count, as the others have gone on without them; but the least number of workers has to
// have done the work.
func (d *decider) succeeded(total, done, dead int) bool {
	switch policy := d.Settings.Success; policy.Type {
	case v1alpha1.SuccessAny:
		return done > 0
	case v1alpha1.SuccessPercent:
		return policy.Percent != nil && done > 0 && done*100 >= int(*policy.Percent)*total
	default:
		return done+dead == total && done >= d.Settings.Min
	}
}

func (d *decider) overdue() bool {
	if d.Settings.Deadline == nil {
		return false
	}
	end := d.m.Started.Add(*d.Settings.Deadline)
	if d.Now.Before(end) {
		d.requeueAt(end)
		return false
	}
	return true
}

// settle waits until all failures of one fault have been seen.
func (d *decider) settle(possible int) {
	if d.m.BelowMin.IsZero() {
		d.m.BelowMin = d.Now.Truncate(time.Microsecond)
		if d.Settings.Settle > 0 {
			d.event(Event{
				Warning: true, Reason: EventBelowMin, Action: actionWait,
				Note: fmt.Sprintf("Only %d workers are possible and %d are needed: the job fails in %s", possible, d.Settings.Min, d.Settings.Settle),
			})
		}
	}
	if end := d.m.BelowMin.Add(d.Settings.Settle); d.Now.Before(end) {
		d.requeueAt(end)
		return
	}
	d.finish(v1alpha1.JobFailed, Event{Reason: v1alpha1.ReasonFailed, Note: failed(d.Name, int(d.failedWorkers()), "Worker")})
}

func (d *decider) finish(as v1alpha1.JobConditionType, e Event) {
	d.m.Ended, d.m.EndedAt = as, d.Now.Truncate(time.Second)
	d.out.After = 0 // clocks of a job that runs
	e.Action = actionFinish
	d.event(e)
}
