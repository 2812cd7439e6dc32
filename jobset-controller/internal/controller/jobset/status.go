package jobset

import (
	"context"

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
	err := r.applyStatus(ctx, s.jobSet, status)
	switch {
	case apierrors.IsConflict(err):
		return ctrl.Result{RequeueAfter: staleRetry}, nil
	case err != nil:
		return ctrl.Result{}, ignoreNotFound("writing the status", err)
	}
	for _, n := range s.pending {
		r.report.send(s.jobSet, n)
	}
	if s.decided {
		r.metrics.count(s.decision)
	}
	return ctrl.Result{}, nil
}

// status is the one place where the status comes from.
func (s *scope) status() *v1alpha2.JobSetStatus {
	status := s.jobSet.Status.DeepCopy()
	status.ReplicatedJobsStatus = s.shownTallies()
	switch {
	case s.finished(), len(s.unsupported) > 0:
	case s.decided:
		s.record(status)
	case s.decides(): // not confirmed: say nothing about a state that may be over
	case s.suspended():
		s.setSuspended(status)
	default:
		s.setRunning(status)
	}
	return status
}

// shownTallies are those of the Jobs, but for a queue that waits for all stages at once.
func (s *scope) shownTallies() []v1alpha2.ReplicatedJobStatus {
	if !plan.Queued(s.jobSet) || s.suspended() || s.finished() {
		return s.tallies
	}
	return policy.Reported(&s.jobSet.Spec, s.tallies, s.gates)
}

// record writes down what was decided.
func (s *scope) record(status *v1alpha2.JobSetStatus) {
	d := s.decision
	switch d.Outcome {
	case policy.Complete:
		status.TerminalState = string(v1alpha2.JobSetCompleted)
		s.raise(status, v1alpha2.JobSetCompleted, normal(d.Reason, d.Message))
		s.lower(status, v1alpha2.JobSetRestarting, normal(v1alpha2.JobSetCompletedReason, "the JobSet has completed"))
	case policy.Fail:
		status.TerminalState = string(v1alpha2.JobSetFailed)
		s.raise(status, v1alpha2.JobSetFailed, warning(d.Reason, d.Message))
		s.lower(status, v1alpha2.JobSetRestarting, normal(v1alpha2.JobSetFailedReason, "the JobSet has failed"))
	case policy.Restart:
		s.recordRestart(status)
	}
}

func (s *scope) recordRestart(status *v1alpha2.JobSetStatus) {
	d := s.decision
	status.Restarts++
	if d.Counts {
		status.RestartsCountTowardsMax++
	}
	s.raise(status, v1alpha2.JobSetRestarting, warning(d.Reason, d.Message))
	s.pending = append(s.pending, warning(string(d.Action)+actionSuffix, d.Message))
	s.restartSequence(status)
}

func (s *scope) setSuspended(status *v1alpha2.JobSetStatus) {
	if !s.settled {
		return
	}
	s.raise(status, v1alpha2.JobSetSuspended, normal(v1alpha2.SuspendedJobsReason, "the jobs are suspended"))
	s.lower(status, v1alpha2.JobSetRestarting, normal(v1alpha2.JobSetSuspendedReason, "the JobSet is suspended"))
}

func (s *scope) setRunning(status *v1alpha2.JobSetStatus) {
	if s.has(v1alpha2.JobSetSuspended) {
		s.lower(status, v1alpha2.JobSetSuspended, normal(v1alpha2.ResumeJobsReason, "the jobs are resumed"))
		s.restartSequence(status)
	}
	if policy.AllReady(&s.jobSet.Spec, s.tallies) {
		s.lower(status, v1alpha2.JobSetRestarting, normal(v1alpha2.JobsReadyReason, "all jobs are ready"))
	}
	s.setSequence(status)
}
