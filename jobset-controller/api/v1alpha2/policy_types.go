package v1alpha2

// Operator combines Jobs in a success policy.
//
// +kubebuilder:validation:Enum=All;Any
type Operator string

const (
	// OperatorAll asks for every Job of the targets.
	OperatorAll Operator = "All"
	// OperatorAny asks for one Job of the targets.
	OperatorAny Operator = "Any"
)

// SuccessPolicy says when a JobSet is complete.
type SuccessPolicy struct {
	// operator is All or Any: whether all Jobs of the targets must succeed, or one is enough.
	Operator Operator `json:"operator"`
	// targetReplicatedJobs lists the replicatedJobs that count. Empty means all.
	// +optional
	// +listType=atomic
	TargetReplicatedJobs []string `json:"targetReplicatedJobs,omitempty"`
}

// FailurePolicyAction is what happens when a Job fails.
//
// +kubebuilder:validation:Enum=FailJobSet;RestartJobSet;RestartJobSetAndIgnoreMaxRestarts;RestartJob;RestartJobAndIgnoreMaxRestarts
type FailurePolicyAction string

const (
	// FailJobSet fails the JobSet, even if restarts are left.
	FailJobSet FailurePolicyAction = "FailJobSet"
	// RestartJobSet recreates all Jobs and counts towards maxRestarts. Once they are used up, the JobSet fails.
	RestartJobSet FailurePolicyAction = "RestartJobSet"
	// RestartJobSetAndIgnoreMaxRestarts recreates all Jobs and does not count.
	RestartJobSetAndIgnoreMaxRestarts FailurePolicyAction = "RestartJobSetAndIgnoreMaxRestarts"
	// RestartJob recreates the failed Job alone and counts towards maxRestarts.
	RestartJob FailurePolicyAction = "RestartJob"
	// RestartJobAndIgnoreMaxRestarts recreates the failed Job alone and does not count.
	RestartJobAndIgnoreMaxRestarts FailurePolicyAction = "RestartJobAndIgnoreMaxRestarts"
)

// JobSetRestartStrategy is how a JobSet is restarted.
//
// +kubebuilder:validation:Enum=Recreate;BlockingRecreate;InPlaceRestart
type JobSetRestartStrategy string

const (
	// Recreate creates each Job as soon as its predecessor is gone.
	Recreate JobSetRestartStrategy = "Recreate"
	// BlockingRecreate creates no Job before all Jobs of earlier attempts are gone, so that attempts never overlap.
	BlockingRecreate JobSetRestartStrategy = "BlockingRecreate"
	// InPlaceRestart leaves the restart to agents in the pods that follow the in-place attempts in the status.
	InPlaceRestart JobSetRestartStrategy = "InPlaceRestart"
)

// FailurePolicy determines what happens when a Job fails.
type FailurePolicy struct {
	// maxRestarts is the number of restarts that are allowed; the failure after them fails the JobSet. In-place restarts
	// count too. Default 0.
	// +optional
	MaxRestarts int32 `json:"maxRestarts,omitempty"`
	// restartStrategy is how the JobSet is restarted: Recreate, BlockingRecreate or InPlaceRestart. Default Recreate.
	// +optional
	// +kubebuilder:default=Recreate
	RestartStrategy JobSetRestartStrategy `json:"restartStrategy,omitempty"`
	// rules choose the action; the first that matches a failed Job wins. Without a match the action is RestartJobSet.
	// +optional
	Rules []FailurePolicyRule `json:"rules,omitempty"`
}

// FailurePolicyRule matches failed Jobs. A Job must meet all conditions that are set.
type FailurePolicyRule struct {
	// name of the rule, unique in the policy; shows up in reasons. Empty means failurePolicyRule<index>.
	Name string `json:"name"`
	// action to take.
	Action FailurePolicyAction `json:"action"`
	// onJobFailureReasons lists reasons of the Job's Failed condition, any of which matches. Empty matches all.
	// +optional
	OnJobFailureReasons []string `json:"onJobFailureReasons,omitempty"`
	// onJobFailureMessagePatterns lists RE2 patterns, any of which must match the message of the Job's Failed condition. A
	// pattern that does not compile is refused at admission, and matches nothing in JobSets that admission did not check. Empty matches
	// all.
	// +optional
	OnJobFailureMessagePatterns []string `json:"onJobFailureMessagePatterns,omitempty"`
	// targetReplicatedJobs lists the replicatedJobs whose Jobs match. Empty matches all.
	// +optional
	// +listType=atomic
	TargetReplicatedJobs []string `json:"targetReplicatedJobs,omitempty"`
	// maxRestarts limits the restarts that this rule may cause. After them it no longer matches, and the next matching rule
	// applies. failurePolicy.maxRestarts also applies to actions that count. 0 or more; absent means no limit. Not part of the
	// published API.
	// +optional
	// +kubebuilder:validation:Minimum=0
	MaxRestarts *int32 `json:"maxRestarts,omitempty"`
}

// StartupPolicyOptions is an order of start.
//
// +kubebuilder:validation:Enum=AnyOrder;InOrder
type StartupPolicyOptions string

const (
	// AnyOrder starts everything at once.
	AnyOrder StartupPolicyOptions = "AnyOrder"
	// InOrder starts a replicatedJob when the one before it in the spec is ready, or has reached the status that a rule requires.
	InOrder StartupPolicyOptions = "InOrder"
)

// StartupPolicy orders the start of replicatedJobs.
type StartupPolicy struct {
	// startupPolicyOrder is AnyOrder or InOrder. Default AnyOrder.
	// +optional
	// +kubebuilder:default=AnyOrder
	StartupPolicyOrder StartupPolicyOptions `json:"startupPolicyOrder,omitempty"`
	// rules determine, for InOrder, how long to wait for each replicatedJob. Together they name every replicatedJob but the last exactly once.
	// Empty means Ready for all. Refused together with AnyOrder or dependsOn.
	// +optional
	// +listType=atomic
	Rules []StartupPolicyRule `json:"rules,omitempty"`
}

// WaitForReplicatedJobsStatus is what a startup rule waits for.
//
// +kubebuilder:validation:Enum=Ready;Succeeded
type WaitForReplicatedJobsStatus string

const (
	// WaitForReady waits until every Job of the replicatedJob is ready or has succeeded.
	WaitForReady WaitForReplicatedJobsStatus = "Ready"
	// WaitForSucceeded waits until all Jobs of the replicatedJob have succeeded.
	WaitForSucceeded WaitForReplicatedJobsStatus = "Succeeded"
)

// StartupPolicyRule determines how long to wait for each of the replicatedJobs. It does not change the order, which is that of the spec.
type StartupPolicyRule struct {
	// targetReplicatedJobs names the replicatedJobs to wait for.
	// +listType=atomic
	TargetReplicatedJobs []string `json:"targetReplicatedJobs"`
	// waitForReplicatedJobsStatus is what each of them must reach before the next replicatedJob starts: Ready or Succeeded.
	// Default Ready.
	// +optional
	// +kubebuilder:default=Ready
	WaitForReplicatedJobsStatus WaitForReplicatedJobsStatus `json:"waitForReplicatedJobsStatus,omitempty"`
}
