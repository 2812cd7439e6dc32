package v1alpha2

import (
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// JobSet runs several groups of Jobs as one workload: they start, fail, restart, suspend and finish together.
//
// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=jobsets,scope=Namespaced
// +kubebuilder:printcolumn:name="TerminalState",type=string,JSONPath=".status.terminalState",description="Completed or Failed once the JobSet has finished"
// +kubebuilder:printcolumn:name="Restarts",type=string,JSONPath=".status.restarts",description="How often all Jobs were recreated"
// +kubebuilder:printcolumn:name="Completed",type=string,JSONPath=`.status.conditions[?(@.type=="Completed")].status`
// +kubebuilder:printcolumn:name="Suspended",type=string,JSONPath=".spec.suspend",description="Whether spec.suspend is set"
// +kubebuilder:printcolumn:name="Running",type=string,JSONPath=`.status.conditions[?(@.type=="Running")].status`,description="Whether all Jobs are ready or have succeeded"
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Running")].reason`,description="What is waited for if they are not"
// +kubebuilder:printcolumn:name="In-Place",type=string,JSONPath=`.metadata.annotations.alpha\.jobset\.sigs\.k8s\.io/inplace-restarts`,description="Restarts that were charged to the budget, in place and by recreation"
// +kubebuilder:printcolumn:name="Training",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="InPlaceInSync")].status`,description="True while all workers run in sync; only with in-place restarts"
// +kubebuilder:printcolumn:name="State",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="InPlaceInSync")].reason`,description="What the workers do, or wait for"
// +kubebuilder:printcolumn:name="Waiting-For",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="InPlaceInSync")].message`,description="What the workers do, or wait for, in detail"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=".metadata.creationTimestamp"
type JobSet struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec says what to run.
	// +optional
	Spec JobSetSpec `json:"spec,omitempty"`
	// status is the observed state. Only controllers write it.
	// +optional
	Status JobSetStatus `json:"status,omitempty"`
}

// JobSetList is a list of JobSets.
//
// +kubebuilder:object:root=true
type JobSetList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []JobSet `json:"items"`
}

// VolumeClaimPolicy describes PersistentVolumeClaims that share one retention policy.
type VolumeClaimPolicy struct {
	// templates for the claims. Each claim is named <template>-<jobset> and is created in the JobSet's namespace, so a
	// template must not set a namespace. At most 50.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=50
	// +kubebuilder:validation:XValidation:rule="self.all(t, !has(t.metadata) || !has(t.metadata.namespace) || size(t.metadata.namespace) == 0)",message="namespace cannot be set for VolumeClaimPolicies templates"
	Templates []corev1.PersistentVolumeClaim `json:"templates,omitempty"`
	// retentionPolicy determines what happens to the claims. Absent means that they are deleted with the JobSet.
	// +optional
	RetentionPolicy *VolumeRetentionPolicy `json:"retentionPolicy,omitempty"`
}

// VolumeRetentionPolicy determines what happens to claims.
type VolumeRetentionPolicy struct {
	// whenDeleted is what happens to the claims when the JobSet is deleted: Delete or Retain. Default Delete.
	// +optional
	// +kubebuilder:default=Delete
	WhenDeleted RetentionPolicyType `json:"whenDeleted,omitempty"`
}

// RetentionPolicyType determines what happens to a claim.
//
// +kubebuilder:validation:Enum=Delete;Retain
type RetentionPolicyType string

const (
	// RetentionPolicyDelete deletes the claim together with the JobSet, through an owner reference.
	RetentionPolicyDelete RetentionPolicyType = "Delete"
	// RetentionPolicyRetain keeps the claim.
	RetentionPolicyRetain RetentionPolicyType = "Retain"
)

// JobSetSpec is the desired state of a JobSet.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.startupPolicy) && self.startupPolicy.startupPolicyOrder == 'InOrder' && has(self.replicatedJobs) && self.replicatedJobs.exists(j, has(j.dependsOn)))",message="StartupPolicy and DependsOn APIs are mutually exclusive"
type JobSetSpec struct {
	// replicatedJobs lists the groups of Jobs. Names are unique. ReplicatedJobs cannot be added, removed, reordered or
	// changed later, except for the pod template fields that a queue sets while the JobSet is suspended. May be empty.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +patchMergeKey=name
	// +patchStrategy=merge
	ReplicatedJobs []ReplicatedJob `json:"replicatedJobs,omitempty" patchStrategy:"merge" patchMergeKey:"name"`

	// network configures how pods find each other. By default, they have stable DNS names in a subdomain named after
	// the JobSet. Immutable.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="Value is immutable"
	Network *Network `json:"network,omitempty"`

	// successPolicy determines when the JobSet is complete. By default, all Jobs must succeed. Immutable.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="Value is immutable"
	SuccessPolicy *SuccessPolicy `json:"successPolicy,omitempty"`

	// failurePolicy determines what happens when a Job fails. By default, the first failed Job fails the JobSet. Immutable.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="Value is immutable"
	FailurePolicy *FailurePolicy `json:"failurePolicy,omitempty"`

	// startupPolicy determines the order in which the replicatedJobs start. By default, all start at once. InOrder
	// cannot be combined with dependsOn. Immutable.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="Value is immutable"
	StartupPolicy *StartupPolicy `json:"startupPolicy,omitempty"`

	// suspend stops all pods while it is true, and starts them again when it becomes false. Default false. Queues such
	// as Kueue set it.
	// +optional
	Suspend *bool `json:"suspend,omitempty"`

	// coordinator identifies the pod that the other pods report to. Its address is set on all Jobs and pods under the
	// key jobset.sigs.k8s.io/coordinator. If absent, the key is not set.
	// +optional
	Coordinator *Coordinator `json:"coordinator,omitempty"`

	// managedBy names the controller that reconciles this JobSet. If it is absent or
	// jobset.sigs.k8s.io/jobset-controller, that is the JobSet controller, which ignores JobSets with any other value.
	// +optional
	ManagedBy *string `json:"managedBy,omitempty"`

	// ttlSecondsAfterFinished is the number of seconds after which a finished JobSet is deleted. 0 means immediately,
	// absent means never.
	// +optional
	// +kubebuilder:validation:Minimum=0
	TTLSecondsAfterFinished *int32 `json:"ttlSecondsAfterFinished,omitempty"`

	// volumeClaimPolicies creates PersistentVolumeClaims that all pods of the JobSet share. At most 50 entries. Immutable.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=50
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="Value is immutable"
	VolumeClaimPolicies []VolumeClaimPolicy `json:"volumeClaimPolicies,omitempty"`
}

// ReplicatedJob is a group of identical Jobs, named <jobset>-<name>-<index>.
type ReplicatedJob struct {
	// name of the replicatedJob, unique in the JobSet. The name of the last Job must be a DNS label of at most 63 characters.
	Name string `json:"name"`

	// groupName gives the Jobs of several replicatedJobs a common index, see the group keys on Jobs. Default "default".
	// +optional
	// +kubebuilder:default=default
	GroupName string `json:"groupName,omitempty"`

	// template for the Jobs. completionMode defaults to Indexed, and the pods' restartPolicy to OnFailure. The
	// controller sets suspend and the pods' subdomain.
	Template batchv1.JobTemplateSpec `json:"template"`

	// replicas is the number of Jobs, 0 or more. Default 1.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=0
	Replicas int32 `json:"replicas,omitempty"`

	// dependsOn delays the Jobs of this replicatedJob until all of the named replicatedJobs have reached the given
	// status. At most 5, all of which must come earlier in the list. Cannot be combined with startupPolicy InOrder.
	// Immutable.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=5
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="Value is immutable"
	DependsOn []DependsOn `json:"dependsOn,omitempty"`
}

// DependsOn makes a replicatedJob wait for another one.
type DependsOn struct {
	// name of an earlier replicatedJob.
	Name string `json:"name"`
	// status that all Jobs of the named replicatedJob must have reached: Ready or Complete.
	Status DependsOnStatus `json:"status"`
}

// DependsOnStatus is a status that a replicatedJob waits for.
//
// +kubebuilder:validation:Enum=Ready;Complete
type DependsOnStatus string

const (
	// DependencyReady waits until the pods of the Jobs are ready. Jobs that have finished count as ready.
	DependencyReady DependsOnStatus = "Ready"
	// DependencyComplete waits until the Jobs have succeeded.
	DependencyComplete DependsOnStatus = "Complete"
)

// Network configures host names and their resolution.
type Network struct {
	// enableDNSHostnames gives pods DNS names through a headless Service. Absent means true.
	// +optional
	EnableDNSHostnames *bool `json:"enableDNSHostnames,omitempty"`
	// subdomain of the pods and name of the headless Service, a DNS label. Defaults to the name of the JobSet.
	// +optional
	Subdomain string `json:"subdomain,omitempty"`
	// publishNotReadyAddresses makes names resolvable before the pods are ready. Absent means true.
	// +optional
	PublishNotReadyAddresses *bool `json:"publishNotReadyAddresses,omitempty"`
}

// Coordinator identifies a pod.
type Coordinator struct {
	// replicatedJob is the name of the pod's replicatedJob, whose Jobs must be Indexed.
	ReplicatedJob string `json:"replicatedJob"`
	// jobIndex is the index of the pod's Job, below replicas. Default 0.
	// +optional
	JobIndex int `json:"jobIndex,omitempty"`
	// podIndex is the completion index of the pod, below completions. Default 0.
	// +optional
	PodIndex int `json:"podIndex,omitempty"`
}

// Operator determines how many Jobs a success policy requires.
//
// +kubebuilder:validation:Enum=All;Any
type Operator string

const (
	// OperatorAll requires all Jobs of the targets.
	OperatorAll Operator = "All"
	// OperatorAny requires one Job of the targets.
	OperatorAny Operator = "Any"
)

// SuccessPolicy determines when a JobSet is complete.
type SuccessPolicy struct {
	// operator is All or Any: all Jobs of the targets must succeed, or a single one is enough.
	Operator Operator `json:"operator"`
	// targetReplicatedJobs lists the replicatedJobs that count. Empty means all.
	// +optional
	// +listType=atomic
	TargetReplicatedJobs []string `json:"targetReplicatedJobs,omitempty"`
}

// FailurePolicyAction determines what happens when a Job fails.
//
// +kubebuilder:validation:Enum=FailJobSet;RestartJobSet;RestartJobSetAndIgnoreMaxRestarts;RestartJob;RestartJobAndIgnoreMaxRestarts
type FailurePolicyAction string

const (
	// FailJobSet fails the JobSet, even if restarts are left.
	FailJobSet FailurePolicyAction = "FailJobSet"
	// RestartJobSet recreates all Jobs and counts towards maxRestarts. Once no restarts are left, the JobSet fails.
	RestartJobSet FailurePolicyAction = "RestartJobSet"
	// RestartJobSetAndIgnoreMaxRestarts recreates all Jobs and does not count towards maxRestarts.
	RestartJobSetAndIgnoreMaxRestarts FailurePolicyAction = "RestartJobSetAndIgnoreMaxRestarts"
	// RestartJob recreates only the failed Job and counts towards maxRestarts.
	RestartJob FailurePolicyAction = "RestartJob"
	// RestartJobAndIgnoreMaxRestarts recreates only the failed Job and does not count towards maxRestarts.
	RestartJobAndIgnoreMaxRestarts FailurePolicyAction = "RestartJobAndIgnoreMaxRestarts"
)

// JobSetRestartStrategy determines how a JobSet is restarted.
//
// +kubebuilder:validation:Enum=Recreate;BlockingRecreate;InPlaceRestart
type JobSetRestartStrategy string

const (
	// Recreate creates each Job as soon as its predecessor is gone.
	Recreate JobSetRestartStrategy = "Recreate"
	// BlockingRecreate creates no Jobs until all Jobs of earlier attempts are gone, so that attempts never overlap.
	BlockingRecreate JobSetRestartStrategy = "BlockingRecreate"
	// InPlaceRestart leaves restarts to agents in the pods, which follow the in-place attempts in the status.
	InPlaceRestart JobSetRestartStrategy = "InPlaceRestart"
)

// FailurePolicy determines what happens when a Job fails.
type FailurePolicy struct {
	// maxRestarts is the number of restarts allowed. The next failure after that fails the JobSet. In-place restarts
	// count as well. Default 0.
	// +optional
	MaxRestarts int32 `json:"maxRestarts,omitempty"`
	// restartStrategy determines how the JobSet is restarted: Recreate, BlockingRecreate or InPlaceRestart. Default
	// Recreate.
	// +optional
	// +kubebuilder:default=Recreate
	RestartStrategy JobSetRestartStrategy `json:"restartStrategy,omitempty"`
	// rules choose the action. The first rule that matches a failed Job applies. If none matches, the action is
	// RestartJobSet.
	// +optional
	Rules []FailurePolicyRule `json:"rules,omitempty"`
}

// FailurePolicyRule matches failed Jobs. A Job must meet all conditions that are set.
type FailurePolicyRule struct {
	// name of the rule, unique in the policy. It is included in condition reasons. Empty means
	// failurePolicyRule<index>.
	Name string `json:"name"`
	// action to take.
	Action FailurePolicyAction `json:"action"`
	// onJobFailureReasons lists reasons of the Job's Failed condition, any of which matches. Empty matches all.
	// +optional
	OnJobFailureReasons []string `json:"onJobFailureReasons,omitempty"`
	// onJobFailureMessagePatterns lists RE2 patterns, at least one of which must match the message of the Job's Failed
	// condition. Admission rejects a pattern that does not compile. In a JobSet that was not validated, such a pattern
	// matches nothing. An empty list matches all.
	// +optional
	OnJobFailureMessagePatterns []string `json:"onJobFailureMessagePatterns,omitempty"`
	// targetReplicatedJobs lists the replicatedJobs whose Jobs match. Empty matches all.
	// +optional
	// +listType=atomic
	TargetReplicatedJobs []string `json:"targetReplicatedJobs,omitempty"`
	// maxRestarts limits the restarts that this rule may cause. After that the rule no longer matches, and the next
	// matching rule applies. failurePolicy.maxRestarts also applies to actions that count towards it. 0 or more. Absent
	// means no limit. Not part of the upstream API.
	// +optional
	// +kubebuilder:validation:Minimum=0
	MaxRestarts *int32 `json:"maxRestarts,omitempty"`
}

// StartupPolicyOptions is the order in which replicatedJobs start.
//
// +kubebuilder:validation:Enum=AnyOrder;InOrder
type StartupPolicyOptions string

const (
	// AnyOrder starts all replicatedJobs at once.
	AnyOrder StartupPolicyOptions = "AnyOrder"
	// InOrder starts a replicatedJob when the previous one in the spec is ready, or has reached the status that a rule
	// requires.
	InOrder StartupPolicyOptions = "InOrder"
)

// StartupPolicy determines the order in which replicatedJobs start.
type StartupPolicy struct {
	// startupPolicyOrder is AnyOrder or InOrder. Default AnyOrder.
	// +optional
	// +kubebuilder:default=AnyOrder
	StartupPolicyOrder StartupPolicyOptions `json:"startupPolicyOrder,omitempty"`
	// rules determine, for InOrder, what to wait for in each replicatedJob. Together they name every replicatedJob
	// except the last exactly once. Empty means Ready for all. Cannot be combined with AnyOrder or dependsOn.
	// +optional
	// +listType=atomic
	Rules []StartupPolicyRule `json:"rules,omitempty"`
}

// WaitForReplicatedJobsStatus is a status that a startup rule waits for.
//
// +kubebuilder:validation:Enum=Ready;Succeeded
type WaitForReplicatedJobsStatus string

const (
	// WaitForReady waits until every Job of the replicatedJob is ready or has succeeded.
	WaitForReady WaitForReplicatedJobsStatus = "Ready"
	// WaitForSucceeded waits until all Jobs of the replicatedJob have succeeded.
	WaitForSucceeded WaitForReplicatedJobsStatus = "Succeeded"
)

// StartupPolicyRule determines what to wait for in the named replicatedJobs. It does not change the order, which is
// that of the spec.
type StartupPolicyRule struct {
	// targetReplicatedJobs names the replicatedJobs to wait for.
	// +listType=atomic
	TargetReplicatedJobs []string `json:"targetReplicatedJobs"`
	// waitForReplicatedJobsStatus is the status that each of them must reach before the next replicatedJob starts:
	// Ready or Succeeded. Default Ready.
	// +optional
	// +kubebuilder:default=Ready
	WaitForReplicatedJobsStatus WaitForReplicatedJobsStatus `json:"waitForReplicatedJobsStatus,omitempty"`
}
