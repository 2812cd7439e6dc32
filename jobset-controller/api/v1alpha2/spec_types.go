package v1alpha2

import (
	batchv1 "k8s.io/api/batch/v1"
)

// JobSetSpec is the desired state of a JobSet.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.startupPolicy) && self.startupPolicy.startupPolicyOrder == 'InOrder' && has(self.replicatedJobs) && self.replicatedJobs.exists(j, has(j.dependsOn)))",message="StartupPolicy and DependsOn APIs are mutually exclusive"
type JobSetSpec struct {
	// replicatedJobs lists the groups of Jobs. Names are unique. ReplicatedJobs cannot be added, removed, reordered or changed later,
	// except for the pod template fields that a queue sets while the JobSet is suspended. May be empty.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +patchMergeKey=name
	// +patchStrategy=merge
	ReplicatedJobs []ReplicatedJob `json:"replicatedJobs,omitempty" patchStrategy:"merge" patchMergeKey:"name"`

	// network configures how the pods find each other. By default, they have stable DNS names in a subdomain named after the JobSet.
	// Immutable.
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

	// startupPolicy orders the start of the replicatedJobs. By default, all start at once. InOrder excludes dependsOn. Immutable.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="Value is immutable"
	StartupPolicy *StartupPolicy `json:"startupPolicy,omitempty"`

	// suspend stops all pods while it is true, and starts them again when it becomes false. Default false. Queues such as Kueue set it.
	// +optional
	Suspend *bool `json:"suspend,omitempty"`

	// coordinator names the pod that the others report to. Its address is put on all Jobs and pods under the key
	// jobset.sigs.k8s.io/coordinator. Absent means that no such key is written.
	// +optional
	Coordinator *Coordinator `json:"coordinator,omitempty"`

	// managedBy names the controller that reconciles this JobSet. Absent, or jobset.sigs.k8s.io/jobset-controller, means the
	// JobSet controller, which ignores JobSets with any other value.
	// +optional
	ManagedBy *string `json:"managedBy,omitempty"`

	// ttlSecondsAfterFinished is the number of seconds after which a finished JobSet is deleted. 0 means at once, absent means never.
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

// ReplicatedJob is one group of identical Jobs, named <jobset>-<name>-<index>.
type ReplicatedJob struct {
	// name of the replicatedJob, unique in the JobSet. The name of the last Job must be a DNS label of at most 63 characters.
	Name string `json:"name"`

	// groupName gives the Jobs of several replicatedJobs a common index, see the group keys on Jobs. Default "default".
	// +optional
	// +kubebuilder:default=default
	GroupName string `json:"groupName,omitempty"`

	// template of the Jobs. completionMode defaults to Indexed, and the pods' restartPolicy to OnFailure. The controller sets suspend and the
	// pods' subdomain.
	Template batchv1.JobTemplateSpec `json:"template"`

	// replicas is the number of Jobs, 0 or more. Default 1.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=0
	Replicas int32 `json:"replicas,omitempty"`

	// dependsOn holds the Jobs of this replicatedJob back until all named replicatedJobs have reached the named status. At most 5; only
	// replicatedJobs that come earlier. Excludes startupPolicy InOrder. Immutable.
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
	// status that all its Jobs must have reached: Ready or Complete.
	Status DependsOnStatus `json:"status"`
}

// DependsOnStatus is a state that a replicatedJob waits for.
//
// +kubebuilder:validation:Enum=Ready;Complete
type DependsOnStatus string

const (
	// DependencyReady waits until the Jobs' pods are ready. Jobs that have finished count as ready.
	DependencyReady DependsOnStatus = "Ready"
	// DependencyComplete waits until the Jobs have succeeded.
	DependencyComplete DependsOnStatus = "Complete"
)

// Network configures names and their resolution.
type Network struct {
	// enableDNSHostnames gives pods DNS names through a headless Service. Absent means true.
	// +optional
	EnableDNSHostnames *bool `json:"enableDNSHostnames,omitempty"`
	// subdomain of the pods and name of the headless Service, a DNS label. Empty means the name of the JobSet.
	// +optional
	Subdomain string `json:"subdomain,omitempty"`
	// publishNotReadyAddresses makes names resolve before the pods are ready. Absent means true.
	// +optional
	PublishNotReadyAddresses *bool `json:"publishNotReadyAddresses,omitempty"`
}

// Coordinator identifies one pod.
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
