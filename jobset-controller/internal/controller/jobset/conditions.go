package jobset

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/parallel"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/policy"
	"github.com/holdfast-project/holdfast/shared/bootstrap/requeue"
	"github.com/holdfast-project/holdfast/shared/notes"
)

// setTrue sets a condition to True. A transition or a new reason emits an event.
func (s *scope) setTrue(status *v1alpha2.JobSetStatus, kind v1alpha2.JobSetConditionType, n notice) {
	old := meta.FindStatusCondition(status.Conditions, string(kind))
	if old == nil || old.Status != metav1.ConditionTrue || old.Reason != n.reason {
		s.pending = append(s.pending, n)
	}
	s.set(status, kind, metav1.ConditionTrue, n)
}

// setFalse sets a condition to False if it is True. It does not add a condition that was never True.
func (s *scope) setFalse(status *v1alpha2.JobSetStatus, kind v1alpha2.JobSetConditionType, n notice) {
	if !meta.IsStatusConditionTrue(status.Conditions, string(kind)) {
		return
	}
	s.pending = append(s.pending, n)
	s.set(status, kind, metav1.ConditionFalse, n)
}

func (s *scope) set(status *v1alpha2.JobSetStatus, kind v1alpha2.JobSetConditionType, to metav1.ConditionStatus, n notice) {
	meta.SetStatusCondition(&status.Conditions, metav1.Condition{
		Type:               string(kind),
		Status:             to,
		Reason:             n.reason,
		Message:            notes.Truncate(n.message, maxMessage),
		ObservedGeneration: s.jobSet.Generation,
	})
}

// maxMessage is the API server's limit for a condition's message. A longer message would cause the whole status to be
// rejected.
const maxMessage = 32768

func (s *scope) setSequence(status *v1alpha2.JobSetStatus) {
	rjob, wait := policy.Blocker(&s.jobSet.Spec, s.Tallies)
	if policy.InOrder(&s.jobSet.Spec) && !s.completeSequence(status, wait == "") {
		s.setTrue(status, v1alpha2.JobSetStartupPolicyInProgress, normal(v1alpha2.InOrderStartupPolicyInProgressReason, fmt.Sprintf(
			"replicated jobs are starting in order: waiting for %s to be %s", rjob, wait)))
	}
}

// endSequence ends the ordered start of a finished JobSet, whose last stage may have finished without ever being
// observed as ready.
func (s *scope) endSequence(status *v1alpha2.JobSetStatus, n notice) {
	if policy.InOrder(&s.jobSet.Spec) && !s.completeSequence(status, policy.AllBegun(&s.jobSet.Spec, s.Tallies)) {
		s.setFalse(status, v1alpha2.JobSetStartupPolicyInProgress, n)
	}
}

// completeSequence records that an ordered start is complete, and reports whether it is. It remains complete until the
// next ordered start, even if a Job is temporarily not ready.
func (s *scope) completeSequence(status *v1alpha2.JobSetStatus, started bool) bool {
	if meta.IsStatusConditionTrue(status.Conditions, string(v1alpha2.JobSetStartupPolicyCompleted)) {
		return true
	}
	if started {
		s.setTrue(status, v1alpha2.JobSetStartupPolicyCompleted, normal(v1alpha2.InOrderStartupPolicyCompletedReason, "all replicated jobs have started in order"))
		s.setFalseSilently(status, v1alpha2.JobSetStartupPolicyInProgress)
	}
	return started
}

// setFalseSilently sets a True condition to False without an event, because the opposite condition already emits one.
// It keeps the reason and the message.
func (s *scope) setFalseSilently(status *v1alpha2.JobSetStatus, kind v1alpha2.JobSetConditionType) {
	if c := meta.FindStatusCondition(status.Conditions, string(kind)); c != nil && c.Status == metav1.ConditionTrue {
		s.set(status, kind, metav1.ConditionFalse, normal(c.Reason, c.Message))
	}
}

// setAccepted reports which parts of the spec cannot be applied as written. A JobSet without faults never gets the
// condition.
func (s *scope) setAccepted(status *v1alpha2.JobSetStatus) {
	fault, found := s.fault()
	old := meta.FindStatusCondition(status.Conditions, string(v1alpha2.JobSetAccepted))
	switch {
	case !found && s.stillRefused(old):
	case found:
		if old == nil || old.Status != metav1.ConditionFalse || old.Reason != fault.reason {
			s.pending = append(s.pending, fault)
		}
		s.set(status, v1alpha2.JobSetAccepted, metav1.ConditionFalse, fault)
	case old != nil:
		s.set(status, v1alpha2.JobSetAccepted, metav1.ConditionTrue, normal(v1alpha2.AcceptedReason, "the spec can be applied as written"))
	}
}

// stillRefused reports whether Jobs of this spec were rejected and are not known to exist now.
func (s *scope) stillRefused(old *metav1.Condition) bool {
	return old != nil && old.Status == metav1.ConditionFalse && old.Reason == v1alpha2.JobsRefusedReason &&
		old.ObservedGeneration == s.jobSet.Generation && !s.jobsExist
}

func (s *scope) fault() (notice, bool) {
	const nothing, rest = "; nothing is started", "; the rest is applied"
	switch {
	case len(s.faults.Disabled) > 0:
		return warning(v1alpha2.FeatureDisabledReason, listed(s.faults.Disabled)+nothing), true
	case len(s.faults.Blocking) > 0:
		return warning(v1alpha2.InvalidSpecReason, listed(s.faults.Blocking)+nothing), true
	case s.refused != "":
		return warning(v1alpha2.JobsRefusedReason, s.refused), true
	case len(s.faults.Other) > 0:
		return warning(v1alpha2.InvalidSpecReason, listed(s.faults.Other)+rest), true
	}
	return notice{}, false
}

// listed returns the first errors as a single line.
func listed(errs field.ErrorList) string {
	return strings.ReplaceAll(parallel.Join(errs.ToAggregate().Errors()).Error(), "\n", "; ")
}

// running returns whether the JobSet is running and, if not, what it is waiting for. This condition does not emit
// events, because the conditions that it summarizes do. Its message does not contain numbers: they are in the counters
// and change with every Job, and each change of a condition triggers all watchers.
func (s *scope) running() (metav1.ConditionStatus, notice) {
	no := func(reason, message string) (metav1.ConditionStatus, notice) {
		return metav1.ConditionFalse, normal(reason, message)
	}
	switch {
	case s.decided && s.decision.Outcome == policy.Complete:
		return no(v1alpha2.JobSetCompletedReason, "the JobSet has completed")
	case s.decided && s.decision.Outcome == policy.Fail:
		return no(v1alpha2.JobSetFailedReason, "the JobSet has failed")
	case s.faults.Stops():
		return no(v1alpha2.NotAcceptedReason, "nothing is started, see condition Accepted")
	case s.suspended():
		return no(v1alpha2.JobSetSuspendedReason, "the JobSet is suspended")
	case s.decided, len(s.Jobs.Failed) > 0:
		return no(v1alpha2.RestartingReason, "jobs are being recreated after a failure")
	case len(s.Jobs.Previous) > 0:
		return no(v1alpha2.WaitingForDeletionReason, "jobs from before the restart have not been deleted yet")
	case s.claimsErr != nil:
		return no(v1alpha2.WaitingForVolumeClaimsReason, s.claimsErr.Error())
	case policy.AllReady(&s.jobSet.Spec, s.Tallies):
		return metav1.ConditionTrue, normal(v1alpha2.AllJobsReadyReason, "all jobs are ready or have succeeded")
	case slices.Contains(s.gates, false):
		return no(v1alpha2.WaitingForStageReason, "some replicated jobs are waiting for others")
	}
	return no(v1alpha2.WaitingForJobsReason, "not all jobs are ready yet")
}

// confirm reads the failed Jobs live, because a decision based on them cannot be revoked. If a failed Job has since been
// deleted, its failure has already been handled. The JobSet need not be read again: the decision is only recorded if the
// JobSet has not changed since it was observed.
func (r *Reconciler) confirm(ctx context.Context, s *scope) (ctrl.Result, error) {
	var over atomic.Bool
	err := parallel.Do(ctx, s.decision.Rulings, func(ctx context.Context, ruling policy.Ruling) error {
		var live batchv1.Job
		failed := ruling.Job
		err := r.Live.Get(ctx, client.ObjectKeyFromObject(failed), &live)
		if err != nil || live.UID != failed.UID || policy.FailureOf(&live) == nil {
			over.Store(true)
		}
		return ignoreNotFound("getting job "+failed.Name, err)
	})
	if err != nil || over.Load() {
		return ctrl.Result{RequeueAfter: requeue.Stale}, err
	}
	s.decided = true
	return ctrl.Result{}, nil
}

func ignoreNotFound(doing string, err error) error {
	if err = client.IgnoreNotFound(err); err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	return nil
}
