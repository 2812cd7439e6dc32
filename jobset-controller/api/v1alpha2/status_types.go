package v1alpha2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// JobSetStatus is the observed state of a JobSet.
type JobSetStatus struct {
	// conditions of the JobSet. See JobSetConditionType. Other programs may add conditions of other types.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// restarts is how often all Jobs were recreated by the failure policy. Each Job is labeled with the value at its
	// creation.
	// +optional
	Restarts int32 `json:"restarts"`
	// restartsCountTowardsMax is how many of these restarts count towards failurePolicy.maxRestarts.
	// +optional
	RestartsCountTowardsMax int32 `json:"restartsCountTowardsMax,omitempty"`
	// terminalState is Completed or Failed once the JobSet has finished, and empty until then.
	// +optional
	TerminalState string `json:"terminalState,omitempty"`
	// replicatedJobsStatus counts the Jobs of each replicatedJob.
	// +optional
	// +listType=map
	// +listMapKey=name
	ReplicatedJobsStatus []ReplicatedJobStatus `json:"replicatedJobsStatus,omitempty"`
	// ruleRestarts counts the restarts caused by each rule of the failure policy, of all Jobs or of single Jobs. Not
	// part of the upstream API.
	// +optional
	// +listType=map
	// +listMapKey=name
	RuleRestarts []RuleRestarts `json:"ruleRestarts,omitempty"`
	// previousInPlaceRestartAttempt is, for restartStrategy InPlaceRestart, the attempt whose workers must stop. 0 or more.
	// +optional
	// +kubebuilder:validation:Minimum=0
	PreviousInPlaceRestartAttempt *int32 `json:"previousInPlaceRestartAttempt,omitempty"`
	// currentInPlaceRestartAttempt is, for restartStrategy InPlaceRestart, the attempt whose workers may run. 0 or more.
	// +optional
	// +kubebuilder:validation:Minimum=0
	CurrentInPlaceRestartAttempt *int32 `json:"currentInPlaceRestartAttempt,omitempty"`
}

// RuleRestarts counts the restarts of one rule.
type RuleRestarts struct {
	// name of the rule; failurePolicyRule<index> if it has none.
	Name string `json:"name"`
	// restarts caused by the rule.
	Restarts int32 `json:"restarts"`
}

// ReplicatedJobStatus counts the Jobs of one replicatedJob in the current attempt. A Job can be ready, active and
// suspended at the same time.
type ReplicatedJobStatus struct {
	// name of the replicatedJob.
	Name string `json:"name"`
	// ready counts unfinished Jobs with as many ready or succeeded pods as may run at the same time. If Kueue queues
	// the JobSet as a whole, this includes notStarted.
	Ready int32 `json:"ready"`
	// succeeded counts Jobs that are complete.
	Succeeded int32 `json:"succeeded"`
	// failed counts Jobs that have failed.
	Failed int32 `json:"failed"`
	// active counts unfinished Jobs with at least one pending or running pod.
	Active int32 `json:"active"`
	// suspended counts unfinished Jobs with spec.suspend set to true.
	Suspended int32 `json:"suspended"`
	// notStarted counts Jobs waiting for earlier replicatedJobs. Not part of the upstream API.
	// +optional
	NotStarted int32 `json:"notStarted,omitempty"`
	// jobRestarts counts the restarts of single Jobs, by Job index. Absent until there is one. At most 1024.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=1024
	JobRestarts []int32 `json:"jobRestarts,omitempty"`
	// jobRestartsCountTowardsMax counts those that count towards failurePolicy.maxRestarts, by Job index. At most 1024.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=1024
	JobRestartsCountTowardsMax []int32 `json:"jobRestartsCountTowardsMax,omitempty"`
}

// JobSetConditionType is a type of condition that the JobSet controller writes.
type JobSetConditionType string

const (
	// JobSetCompleted is True when the success policy has been met.
	JobSetCompleted JobSetConditionType = "Completed"
	// JobSetFailed is True when the JobSet has failed permanently.
	JobSetFailed JobSetConditionType = "Failed"
	// JobSetSuspended is True while the JobSet is suspended, and False after it has been resumed.
	JobSetSuspended JobSetConditionType = "Suspended"
	// JobSetAccepted is False while part of the spec cannot be applied as written. The rest of the spec is applied. The
	// condition is absent from JobSets that never had such a part. Not part of the upstream API.
	JobSetAccepted JobSetConditionType = "Accepted"
	// JobSetRunning reports whether all Jobs are ready or have succeeded, and if not, what the JobSet is waiting for.
	// Not part of the upstream API.
	JobSetRunning JobSetConditionType = "Running"
	// JobSetRestartingJobs is True from a restart of single Jobs until all Jobs are ready again. Not part of the
	// upstream API.
	JobSetRestartingJobs JobSetConditionType = "RestartingJobs"
	// JobSetRestartingInPlace is True during a restart by agents, for restartStrategy InPlaceRestart. Not part of the
	// upstream API.
	JobSetRestartingInPlace JobSetConditionType = "RestartingInPlace"
	// JobSetRestarting is True from a restart of all Jobs until they are ready again.
	JobSetRestarting JobSetConditionType = "RestartingJobSet"
	// JobSetStartupPolicyInProgress is True during an ordered start.
	JobSetStartupPolicyInProgress JobSetConditionType = "StartupPolicyInProgress"
	// JobSetStartupPolicyCompleted is True when an ordered start is complete.
	JobSetStartupPolicyCompleted JobSetConditionType = "StartupPolicyCompleted"
)

// Condition reasons.
const (
	// AllJobsCompletedReason is why a JobSet is Completed.
	AllJobsCompletedReason = "AllJobsCompleted"
	// FailedJobsReason is why a JobSet without a failure policy is Failed.
	FailedJobsReason = "FailedJobs"
	// ReachedMaxRestartsReason is why a JobSet that has no restarts left is Failed.
	ReachedMaxRestartsReason = "ReachedMaxRestarts"
	// FailJobSetActionReason is why a JobSet is Failed if a failure policy rule requires it.
	FailJobSetActionReason = "FailJobSetFailurePolicyAction"
	// SuspendedJobsReason is the reason for Suspended=True.
	SuspendedJobsReason = "SuspendedJobs"
	// ResumeJobsReason is the reason for Suspended=False.
	ResumeJobsReason = "ResumeJobs"
	// DefaultFailurePolicyReason is the reason for RestartingJobSet=True if no rule matched.
	DefaultFailurePolicyReason = "DefaultFailurePolicy"
	// FailurePolicyReasonPrefix, followed by the rule's name, is the reason for RestartingJobSet=True if a rule
	// matched.
	FailurePolicyReasonPrefix = "FailurePolicy_"
	// JobsReadyReason is the reason for RestartingJobSet=False once all Jobs are ready again.
	JobsReadyReason = "JobsReady"
	// JobSetFailedReason is the reason for RestartingJobSet=False once the JobSet has failed.
	JobSetFailedReason = "JobSetFailed"
	// JobSetCompletedReason is the reason for RestartingJobSet=False once the JobSet is complete.
	JobSetCompletedReason = "JobSetCompleted"
	// JobSetSuspendedReason is the reason for RestartingJobSet=False once the JobSet has been suspended.
	JobSetSuspendedReason = "JobSetSuspended"
	// InOrderStartupPolicyInProgressReason is the reason for StartupPolicyInProgress=True.
	InOrderStartupPolicyInProgressReason = "InOrderStartupPolicyInProgress"
	// InOrderStartupPolicyCompletedReason is the reason for StartupPolicyCompleted=True.
	InOrderStartupPolicyCompletedReason = "InOrderStartupPolicyCompleted"
	// AcceptedReason is the reason for Accepted=True after it was False.
	AcceptedReason = "SpecAccepted"
	// InvalidSpecReason is the reason for Accepted=False if a field has a value that admission currently rejects.
	InvalidSpecReason = "InvalidSpec"
	// FeatureDisabledReason is the reason for Accepted=False if a field requires a feature gate that is disabled.
	FeatureDisabledReason = "FeatureDisabled"
	// JobsRefusedReason is the reason for Accepted=False if the API server rejects the Jobs as written.
	JobsRefusedReason = "JobsRefused"
	// AllJobsReadyReason is the reason for Running=True.
	AllJobsReadyReason = "AllJobsReady"
	// WaitingForJobsReason is the reason for Running=False while Jobs are being created or their pods are not ready
	// yet.
	WaitingForJobsReason = "WaitingForJobs"
	// WaitingForStageReason is the reason for Running=False while replicatedJobs wait for earlier ones.
	WaitingForStageReason = "WaitingForStage"
	// WaitingForVolumeClaimsReason is the reason for Running=False while volume claims are missing.
	WaitingForVolumeClaimsReason = "WaitingForVolumeClaims"
	// WaitingForDeletionReason is the reason for Running=False while Jobs of an earlier attempt still exist.
	WaitingForDeletionReason = "WaitingForDeletion"
	// RestartingReason is the reason for Running=False after a failure.
	RestartingReason = "Restarting"
	// NotAcceptedReason is the reason for Running=False if nothing can be started. See JobSetAccepted.
	NotAcceptedReason = "NotAccepted"
	// InPlaceAttemptReason is the reason for RestartingInPlace=True.
	InPlaceAttemptReason = "InPlaceRestartAttempt"
)
