package jobset

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/policy"
)

// raise makes a condition True. A transition, or a new reason, is announced.
func (s *scope) raise(status *v1alpha2.JobSetStatus, kind v1alpha2.JobSetConditionType, n notice) {
	old := meta.FindStatusCondition(status.Conditions, string(kind))
	if old == nil || old.Status != metav1.ConditionTrue || old.Reason != n.reason {
		s.pending = append(s.pending, n)
	}
	s.set(status, kind, metav1.ConditionTrue, n)
}

// lower makes a condition False that is True. One that was never raised is not added.
func (s *scope) lower(status *v1alpha2.JobSetStatus, kind v1alpha2.JobSetConditionType, n notice) {
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
		Message:            truncate(n.message, maxMessage),
		ObservedGeneration: s.jobSet.Generation,
	})
}

// maxMessage is what the API server accepts as the message of a condition; a longer one would make it refuse the whole status.
const maxMessage = 32768

// setSequence tells how far an ordered start has come. Once complete it stays so until the sequence starts again, even if a Job
// is not ready for a while.
func (s *scope) setSequence(status *v1alpha2.JobSetStatus) {
	if !policy.InOrder(&s.jobSet.Spec) || meta.IsStatusConditionTrue(status.Conditions, string(v1alpha2.JobSetStartupPolicyCompleted)) {
		return
	}
	if policy.AllStarted(&s.jobSet.Spec, s.tallies) {
		s.raise(status, v1alpha2.JobSetStartupPolicyCompleted, sequenceCompleted)
		s.flip(status, v1alpha2.JobSetStartupPolicyInProgress)
		return
	}
	s.raise(status, v1alpha2.JobSetStartupPolicyInProgress, normal(v1alpha2.InOrderStartupPolicyInProgressReason, s.sequenceMessage()))
}

func (s *scope) sequenceMessage() string {
	entry, wait := policy.Blocker(&s.jobSet.Spec, s.tallies)
	return fmt.Sprintf("replicated jobs are starting in order: waiting for %s to be %s", entry, wait)
}

// restartSequence forgets that an ordered start was complete.
func (s *scope) restartSequence(status *v1alpha2.JobSetStatus) {
	s.flip(status, v1alpha2.JobSetStartupPolicyCompleted)
}

// endSequence of a JobSet that has finished. The last stage may have done so before it was seen ready.
func (s *scope) endSequence(status *v1alpha2.JobSetStatus, n notice) {
	if !policy.InOrder(&s.jobSet.Spec) || meta.IsStatusConditionTrue(status.Conditions, string(v1alpha2.JobSetStartupPolicyCompleted)) {
		return
	}
	if policy.AllBegun(&s.jobSet.Spec, s.tallies) {
		s.raise(status, v1alpha2.JobSetStartupPolicyCompleted, sequenceCompleted)
		s.flip(status, v1alpha2.JobSetStartupPolicyInProgress)
		return
	}
	s.lower(status, v1alpha2.JobSetStartupPolicyInProgress, n)
}

var sequenceCompleted = normal(v1alpha2.InOrderStartupPolicyCompletedReason, "all replicated jobs have started in order")

// flip makes a True condition False and keeps its reason and message, without an event: its counterpart tells the story.
func (s *scope) flip(status *v1alpha2.JobSetStatus, kind v1alpha2.JobSetConditionType) {
	if c := meta.FindStatusCondition(status.Conditions, string(kind)); c != nil && c.Status == metav1.ConditionTrue {
		s.set(status, kind, metav1.ConditionFalse, normal(c.Reason, c.Message))
	}
}
