package sandbox

import (
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// These functions set a Job's status as the Job controller would. The API server rejects an inconsistent status, such as that of a completed Job
// with active pods.

// JobReady sets the status of a Job with running and ready pods.
func JobReady(pods int32) func(*batchv1.JobStatus) {
	return func(s *batchv1.JobStatus) {
		started(s)
		s.Active, s.Ready = pods, &pods
	}
}

// JobSucceeded sets the status of a completed Job with one completion.
func JobSucceeded(s *batchv1.JobStatus) {
	noPods(s)
	s.Succeeded, s.CompletedIndexes, s.CompletionTime = 1, "0", ptr.To(metav1.Now())
	SetJobCondition(s, batchv1.JobSuccessCriteriaMet, corev1.ConditionTrue, "CompletionsReached")
	SetJobCondition(s, batchv1.JobComplete, corev1.ConditionTrue, "CompletionsReached")
}

// JobFailed sets the status of a Job that has exceeded its back-off limit and has no pods left.
func JobFailed(s *batchv1.JobStatus) {
	noPods(s)
	s.Failed = 1
	SetJobCondition(s, batchv1.JobFailureTarget, corev1.ConditionTrue, "BackoffLimitExceeded")
	SetJobCondition(s, batchv1.JobFailed, corev1.ConditionTrue, "BackoffLimitExceeded")
}

// JobStopped sets the status of a suspended Job without pods.
func JobStopped(s *batchv1.JobStatus) {
	started(s)
	s.Active, s.Ready = 0, ptr.To[int32](0)
	SetJobCondition(s, batchv1.JobSuspended, corev1.ConditionTrue, "JobSuspended")
}

// SetJobCondition sets the condition of the given type.
func SetJobCondition(s *batchv1.JobStatus, kind batchv1.JobConditionType, to corev1.ConditionStatus, reason string) {
	s.Conditions = slices.DeleteFunc(s.Conditions, func(c batchv1.JobCondition) bool { return c.Type == kind })
	s.Conditions = append(s.Conditions, batchv1.JobCondition{Type: kind, Status: to, Reason: reason, Message: "played", LastTransitionTime: metav1.Now()})
}

func noPods(s *batchv1.JobStatus) {
	started(s)
	s.Active, s.Ready, s.Terminating = 0, ptr.To[int32](0), ptr.To[int32](0)
}

func started(s *batchv1.JobStatus) {
	if s.StartTime == nil {
		s.StartTime = ptr.To(metav1.Now())
	}
}
