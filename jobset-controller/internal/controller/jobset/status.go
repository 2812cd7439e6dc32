package jobset

import (
	"cmp"
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/plan"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/policy"
)

// writeStatus writes the status if it has changed, and then says so.
func (r *Reconciler) writeStatus(ctx context.Context, s *scope) (ctrl.Result, error) {
	status := s.status()
	if equality.Semantic.DeepEqual(*status, s.jobSet.Status) {
		return ctrl.Result{}, nil
	}
	if wait := r.pace(s.jobSet, status); wait > 0 {
		return ctrl.Result{RequeueAfter: wait}, nil
	}
	err := r.applyStatus(ctx, s.jobSet, status)
	switch {
	case apierrors.IsConflict(err):
		return ctrl.Result{RequeueAfter: staleRetry}, nil
	case err != nil:
		return ctrl.Result{}, ignoreNotFound("writing the status", err)
	}
	r.told.Add(s.jobSet.UID, r.clock.Now())
	for _, n := range s.pending {
		r.report.send(s.jobSet, n)
	}
	if s.decided {
		r.noteRestart(ctx, s)
		r.metrics.count(s.decision)
	}
	return ctrl.Result{}, nil
}

// status is the one place where the status comes from.
func (s *scope) status() *v1alpha2.JobSetStatus {
	status := s.jobSet.Status.DeepCopy()
	status.ReplicatedJobsStatus = unordered(status.ReplicatedJobsStatus, s.shownTallies())
	if s.finished() {
		return status
	}
	s.setAccepted(status)
	switch {
	case s.decided:
		s.record(status)
	case s.decides(): // not confirmed: say nothing about a state that may be over
	case s.suspended() && (!s.faults.Stops() || len(s.jobs.Names) > 0):
		s.setSuspended(status)
	case s.faults.Stops():
	default:
		s.setResumed(status)
	}
	s.setRunning(status)
	return status
}

// shownTallies are those of the Jobs, but for a queue that waits for all stages at once.
func (s *scope) shownTallies() []v1alpha2.ReplicatedJobStatus {
	if !plan.Queued(s.jobSet) || s.suspended() || s.finished() {
		return s.tallies
	}
	return policy.Reported(&s.jobSet.Spec, s.tallies, s.gates)
}

// unordered keeps the order that is there if the counts are the same: the published controller sorts them otherwise.
func unordered(old, now []v1alpha2.ReplicatedJobStatus) []v1alpha2.ReplicatedJobStatus {
	byName := func(list []v1alpha2.ReplicatedJobStatus) []v1alpha2.ReplicatedJobStatus {
		return slices.SortedFunc(slices.Values(list), func(a, b v1alpha2.ReplicatedJobStatus) int { return cmp.Compare(a.Name, b.Name) })
	}
	if equality.Semantic.DeepEqual(byName(old), byName(now)) {
		return old
	}
	return now
}

// record writes down what was decided.
func (s *scope) record(status *v1alpha2.JobSetStatus) {
	d := s.decision
	switch d.Outcome {
	case policy.Complete:
		status.TerminalState = string(v1alpha2.JobSetCompleted)
		s.raise(status, v1alpha2.JobSetCompleted, normal(d.Reason, d.Message))
		s.endRestarts(status, normal(v1alpha2.JobSetCompletedReason, "the JobSet has completed"))
	case policy.Fail:
		status.TerminalState = string(v1alpha2.JobSetFailed)
		s.raise(status, v1alpha2.JobSetFailed, warning(d.Reason, d.Message))
		s.endRestarts(status, normal(v1alpha2.JobSetFailedReason, "the JobSet has failed"))
	case policy.Restart:
		s.recordRestart(status)
	case policy.RestartJobs:
		s.recordJobRestarts(status)
	}
}

// endRestarts of every kind.
func (s *scope) endRestarts(status *v1alpha2.JobSetStatus, n notice) {
	for _, kind := range []v1alpha2.JobSetConditionType{v1alpha2.JobSetRestarting, v1alpha2.JobSetRestartingJobs, v1alpha2.JobSetRestartingInPlace} {
		s.lower(status, kind, n)
	}
}

func (s *scope) recordRestart(status *v1alpha2.JobSetStatus) {
	d := s.decision
	status.Restarts++
	if d.Counts {
		status.RestartsCountTowardsMax++
	}
	status.RuleRestarts = policy.CountRules(status.RuleRestarts, d)
	s.raise(status, v1alpha2.JobSetRestarting, warning(d.Reason, d.Message))
	s.pending = append(s.pending, warning(string(d.Action)+actionSuffix, d.Message))
	s.restartSequence(status)
}

// recordJobRestarts counts the Jobs that are recreated alone. The others, and an ordered start, go on.
func (s *scope) recordJobRestarts(status *v1alpha2.JobSetStatus) {
	d := s.decision
	status.ReplicatedJobsStatus = policy.CountRestarts(&s.jobSet.Spec, s.shownTallies(), d.Restarts)
	status.RuleRestarts = policy.CountRules(status.RuleRestarts, d)
	s.raise(status, v1alpha2.JobSetRestartingJobs, warning(d.Reason, d.Message))
	for _, restart := range d.Restarts {
		n := warning(string(restart.Action)+actionSuffix, "job "+restart.Job.Name+" is recreated: "+policy.FailureOf(restart.Job).Message)
		s.pending = append(s.pending, n)
	}
}

func (s *scope) setSuspended(status *v1alpha2.JobSetStatus) {
	s.setAttempts(status)
	if !s.settled {
		return
	}
	s.raise(status, v1alpha2.JobSetSuspended, normal(v1alpha2.SuspendedJobsReason, "the jobs are suspended"))
	s.endRestarts(status, normal(v1alpha2.JobSetSuspendedReason, "the JobSet is suspended"))
}

func (s *scope) setResumed(status *v1alpha2.JobSetStatus) {
	if s.has(v1alpha2.JobSetSuspended) {
		s.lower(status, v1alpha2.JobSetSuspended, normal(v1alpha2.ResumeJobsReason, "the jobs are resumed"))
		s.restartSequence(status)
	}
	s.setAttempts(status)
	if policy.AllReady(&s.jobSet.Spec, s.tallies) && !s.restartsInPlace() {
		s.endRestarts(status, normal(v1alpha2.JobsReadyReason, "all jobs are ready"))
	}
	s.setSequence(status)
}
