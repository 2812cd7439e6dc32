package v1alpha2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// JobSetStatus is the observed state of a JobSet.
type JobSetStatus struct {
	// conditions of the JobSet. See JobSetConditionType. Other programs may add types of their own.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// restarts is how often all Jobs were recreated by the failure policy. Each Job carries the number it was created under.
	// +optional
	Restarts int32 `json:"restarts"`
	// restartsCountTowardsMax is how many of them count towards failurePolicy.maxRestarts.
	// +optional
	RestartsCountTowardsMax int32 `json:"restartsCountTowardsMax,omitempty"`
	// terminalState is Completed or Failed once the JobSet has finished, and empty before.
	// +optional
	TerminalState string `json:"terminalState,omitempty"`
	// replicatedJobsStatus counts the Jobs of each replicatedJob.
	// +optional
	// +listType=map
	// +listMapKey=name
	ReplicatedJobsStatus []ReplicatedJobStatus `json:"replicatedJobsStatus,omitempty"`
	// ruleRestarts counts, by rule of the failure policy, the restarts that it has caused, of all Jobs or of single ones. Not
	// part of the published API.
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
	// restarts that it has caused.
	Restarts int32 `json:"restarts"`
}

// ReplicatedJobStatus counts the Jobs of the current attempt of one replicatedJob. A Job can be ready, active and suspended at the same time.
type ReplicatedJobStatus struct {
	// name of the replicatedJob.
	Name string `json:"name"`
	// ready counts unfinished Jobs whose ready and succeeded pods are as many as may run at a time. In a JobSet that Kueue queues as a
	// whole it includes notStarted.
	Ready int32 `json:"ready"`
	// succeeded counts Jobs that are complete.
	Succeeded int32 `json:"succeeded"`
	// failed counts Jobs that have failed.
	Failed int32 `json:"failed"`
	// active counts unfinished Jobs with at least one pod that is pending or running.
	Active int32 `json:"active"`
	// suspended counts unfinished Jobs with spec.suspend set to true.
	Suspended int32 `json:"suspended"`
	// notStarted counts Jobs that wait for earlier replicatedJobs. Not part of the published API.
	// +optional
	NotStarted int32 `json:"notStarted,omitempty"`
	// jobRestarts counts, by Job index, the restarts of single Jobs. Absent until there is one. At most 1024.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=1024
	JobRestarts []int32 `json:"jobRestarts,omitempty"`
	// jobRestartsCountTowardsMax counts, by Job index, those that count towards failurePolicy.maxRestarts. At most 1024.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=1024
	JobRestartsCountTowardsMax []int32 `json:"jobRestartsCountTowardsMax,omitempty"`
}

// JobSetConditionType is a type of condition that the JobSet controller writes.
type JobSetConditionType string

const (
	// JobSetCompleted is True when the success policy is fulfilled.
	JobSetCompleted JobSetConditionType = "Completed"
	// JobSetFailed is True when the JobSet has failed permanently.
	JobSetFailed JobSetConditionType = "Failed"
	// JobSetSuspended is True while the JobSet is suspended, and False after it was resumed.
	JobSetSuspended JobSetConditionType = "Suspended"
	// JobSetAccepted is False while a part of the spec cannot be carried out as written. The other parts are. It is absent from
	// JobSets that never had such a part. Not published.
	JobSetAccepted JobSetConditionType = "Accepted"
	// JobSetRunning reports whether all Jobs are ready or have succeeded, and if not, what is waited for. Not published.
	JobSetRunning JobSetConditionType = "Running"
	// JobSetRestartingJobs is True from a restart of single Jobs until all are ready again. Not published.
	JobSetRestartingJobs JobSetConditionType = "RestartingJobs"
	// JobSetRestartingInPlace is True during a restart by agents, for restartStrategy InPlaceRestart. Not published.
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
	// ReachedMaxRestartsReason is why a JobSet without restarts left is Failed.
	ReachedMaxRestartsReason = "ReachedMaxRestarts"
	// FailJobSetActionReason is why a JobSet is Failed when a failure policy rule says so.
	FailJobSetActionReason = "FailJobSetFailurePolicyAction"
	// SuspendedJobsReason is the reason for Suspended=True.
	SuspendedJobsReason = "SuspendedJobs"
	// ResumeJobsReason is the reason for Suspended=False.
	ResumeJobsReason = "ResumeJobs"
	// DefaultFailurePolicyReason is the reason for RestartingJobSet=True when no rule matched.
	DefaultFailurePolicyReason = "DefaultFailurePolicy"
	// FailurePolicyReasonPrefix, followed by the rule's name, is the reason for RestartingJobSet=True when a rule matched.
	FailurePolicyReasonPrefix = "FailurePolicy_"
	// JobsReadyReason is the reason for RestartingJobSet=False when all Jobs are ready again.
	JobsReadyReason = "JobsReady"
	// JobSetFailedReason is the reason for RestartingJobSet=False when the JobSet has failed.
	JobSetFailedReason = "JobSetFailed"
	// JobSetCompletedReason is the reason for RestartingJobSet=False when the JobSet is complete.
	JobSetCompletedReason = "JobSetCompleted"
	// JobSetSuspendedReason is the reason for RestartingJobSet=False when the JobSet was suspended.
	JobSetSuspendedReason = "JobSetSuspended"
	// InOrderStartupPolicyInProgressReason is the reason for StartupPolicyInProgress=True.
	InOrderStartupPolicyInProgressReason = "InOrderStartupPolicyInProgress"
	// InOrderStartupPolicyCompletedReason is the reason for StartupPolicyCompleted=True.
	InOrderStartupPolicyCompletedReason = "InOrderStartupPolicyCompleted"
	// AcceptedReason is the reason for Accepted=True again.
	AcceptedReason = "SpecAccepted"
	// InvalidSpecReason is the reason for Accepted=False when a field has a value that admission refuses today.
	InvalidSpecReason = "InvalidSpec"
	// FeatureDisabledReason is the reason for Accepted=False when a field needs a feature gate that is off.
	FeatureDisabledReason = "FeatureDisabled"
	// JobsRefusedReason is the reason for Accepted=False when the API server refuses the Jobs as they are written.
	JobsRefusedReason = "JobsRefused"
	// AllJobsReadyReason is the reason for Running=True.
	AllJobsReadyReason = "AllJobsReady"
	// WaitingForJobsReason is the reason for Running=False while Jobs are created and their pods become ready.
	WaitingForJobsReason = "WaitingForJobs"
	// WaitingForStageReason is the reason for Running=False while replicatedJobs wait for earlier ones.
	WaitingForStageReason = "WaitingForStage"
	// WaitingForVolumeClaimsReason is the reason for Running=False while volume claims do not exist.
	WaitingForVolumeClaimsReason = "WaitingForVolumeClaims"
	// WaitingForDeletionReason is the reason for Running=False while Jobs of an earlier attempt are not gone.
	WaitingForDeletionReason = "WaitingForDeletion"
	// RestartingReason is the reason for Running=False after a failure.
	RestartingReason = "Restarting"
	// NotAcceptedReason is the reason for Running=False when nothing is started. See JobSetAccepted.
	NotAcceptedReason = "NotAccepted"
	// InPlaceAttemptReason is the reason for RestartingInPlace=True.
	InPlaceAttemptReason = "InPlaceRestartAttempt"
)
