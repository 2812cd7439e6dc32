package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ElasticJob is a distributed training job that continues while enough workers are left, and includes new workers once they start.
//
// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.replicaSpecs.Worker.replicas,statuspath=.status.replicas,selectorpath=.status.selector
// +kubebuilder:resource:path=elasticjobs,scope=Namespaced
// +kubebuilder:printcolumn:name="State",type=string,JSONPath=".status.state",description="State of the job"
// +kubebuilder:printcolumn:name="Active",type=integer,JSONPath=".status.replicaStatuses.Worker.active",description="Running workers"
// +kubebuilder:printcolumn:name="Desired",type=integer,JSONPath=".spec.replicaSpecs.Worker.replicas"
// +kubebuilder:printcolumn:name="Min",type=integer,JSONPath=".spec.minReplicas"
// +kubebuilder:printcolumn:name="Max",type=integer,JSONPath=".spec.maxReplicas"
// +kubebuilder:printcolumn:name="Restarts",type=integer,JSONPath=".status.restarts",description="Failures of worker programs"
// +kubebuilder:printcolumn:name="Disruptions",type=integer,JSONPath=".status.disruptions",description="Workers that were evicted, preempted or lost"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=".metadata.creationTimestamp"
// +kubebuilder:printcolumn:name="Round",type=integer,priority=1,JSONPath=".status.rendezvous.round",description="Round of the managed rendezvous"
// +kubebuilder:printcolumn:name="Waiting-For",type=string,priority=1,JSONPath=".status.message",description="What the job is waiting for, or why it ended"
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 50 && self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",message="metadata.name must begin with a letter, contain only lowercase letters, digits and dashes, end with a letter or digit, and have at most 50 characters: the names of the workers' services are derived from it"
type ElasticJob struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the desired state of the job.
	Spec ElasticJobSpec `json:"spec"`
	// status is the observed state of the job. Only the operator writes it.
	// +optional
	Status ElasticJobStatus `json:"status,omitempty"`
}

// ElasticJobList is a list of ElasticJobs.
//
// +kubebuilder:object:root=true
type ElasticJobList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []ElasticJob `json:"items"`
}

// Labels of pods and services. The keys are those of the upstream controller, without a prefix.
const (
	// GroupNameLabel marks the pods and services of all ElasticJobs. Its value is GroupName.
	GroupNameLabel = "group-name"
	// GroupName is the value of GroupNameLabel.
	GroupName = "elastic.pytorch.org"
	// JobNameLabel is the name of the ElasticJob.
	JobNameLabel = "job-name"
	// ReplicaTypeLabel is ReplicaTypeWorker or ReplicaTypeRendezvous.
	ReplicaTypeLabel = "replica-type"
	// ReplicaIndexLabel is the index of a worker.
	ReplicaIndexLabel = "replica-index"
	// ReplicaTypeWorker is the value of ReplicaTypeLabel for workers.
	ReplicaTypeWorker = "worker"
	// ReplicaTypeRendezvous is the value of ReplicaTypeLabel for the managed rendezvous server.
	ReplicaTypeRendezvous = "rendezvous"
)

const (
	// InjectArgumentsKey is an annotation of ElasticJobs. The value "true" prepends launcher arguments such as --rdzv_backend to the
	// arguments of each worker's first container. It is needed for images with a launcher that does not read PET_ variables.
	InjectArgumentsKey = "elastic.holdfast.dev/inject-launcher-arguments"
	// InPlaceTimeoutKey is an annotation of ElasticJobs that enables in-place restarts. Its value is the timeout of one restart, as a
	// duration such as "60s". When a worker's program fails and the set of workers does not change, the processes of all workers are
	// restarted inside their containers and no pod is replaced. A worker that has not rejoined within the timeout is replaced. JobSets use
	// the same key.
	InPlaceTimeoutKey = "alpha.jobset.sigs.k8s.io/inplace-timeout"
	// InPlaceContainerKey is an annotation that names the container to restart. It is required if the pods have several containers.
	// JobSets use the same key.
	InPlaceContainerKey = "holdfast.dev/inplace-container"
	// QueueLabel is a label of ElasticJobs that names a Kueue queue.
	QueueLabel = "kueue.x-k8s.io/queue-name"
	// ControllerName is the value of spec.managedBy for this operator.
	ControllerName = "elastic.pytorch.org/elastic-job-controller"
	// MaxWorkers is the largest number of workers. With more, a status with the history of all workers may exceed the limit of etcd, 1.5 MiB.
	MaxWorkers = 5000
)

// ElasticJobSpec is the desired state of an ElasticJob. The fields of the run policy are documented at the top level. The upstream controller
// wrote them to RunPolicy, and related controllers use runPolicy. All three are read. A field that is set in more than one of them must have
// the same value in each.
//
// +kubebuilder:validation:XValidation:rule="!has(self.minReplicas) || !has(self.maxReplicas) || self.minReplicas <= self.maxReplicas",message="minReplicas must not be larger than maxReplicas"
// +kubebuilder:validation:XValidation:rule="!has(self.minReplicas) || !has(self.replicaSpecs.Worker.replicas) || self.replicaSpecs.Worker.replicas >= self.minReplicas",message="replicaSpecs.Worker.replicas must not be smaller than minReplicas"
// +kubebuilder:validation:XValidation:rule="!has(self.maxReplicas) || !has(self.replicaSpecs.Worker.replicas) || self.replicaSpecs.Worker.replicas <= self.maxReplicas",message="replicaSpecs.Worker.replicas must not be larger than maxReplicas"
// +kubebuilder:validation:XValidation:rule="!has(self.minReplicas) || !has(self.grantedReplicas) || self.grantedReplicas >= self.minReplicas",message="grantedReplicas must not be smaller than minReplicas"
// +kubebuilder:validation:XValidation:rule="!has(self.rdzvBackend) || self.rdzvBackend == 'c10d' || (has(self.rdzvEndpoint) && size(self.rdzvEndpoint) > 0)",message="rdzvBackend etcd and etcd-v2 need an rdzvEndpoint: the managed rendezvous server supports only c10d"
// +kubebuilder:validation:XValidation:rule="has(self.managedBy) == has(oldSelf.managedBy) && (!has(self.managedBy) || self.managedBy == oldSelf.managedBy)",message="managedBy is immutable"
// +kubebuilder:validation:XValidation:rule="[self.?cleanPodPolicy, self.?runPolicy.?cleanPodPolicy, self.?RunPolicy.?cleanPodPolicy].filter(x, x.hasValue()).all(x, [self.?cleanPodPolicy, self.?runPolicy.?cleanPodPolicy, self.?RunPolicy.?cleanPodPolicy].filter(y, y.hasValue()).all(y, x == y))",message="cleanPodPolicy is set more than once (at the top level, in runPolicy or in RunPolicy) and differs: set it at the top level only"
// +kubebuilder:validation:XValidation:rule="[self.?ttlSecondsAfterFinished, self.?runPolicy.?ttlSecondsAfterFinished, self.?RunPolicy.?ttlSecondsAfterFinished].filter(x, x.hasValue()).all(x, [self.?ttlSecondsAfterFinished, self.?runPolicy.?ttlSecondsAfterFinished, self.?RunPolicy.?ttlSecondsAfterFinished].filter(y, y.hasValue()).all(y, x == y))",message="ttlSecondsAfterFinished is set more than once (at the top level, in runPolicy or in RunPolicy) and differs: set it at the top level only"
// +kubebuilder:validation:XValidation:rule="[self.?activeDeadlineSeconds, self.?runPolicy.?activeDeadlineSeconds, self.?RunPolicy.?activeDeadlineSeconds].filter(x, x.hasValue()).all(x, [self.?activeDeadlineSeconds, self.?runPolicy.?activeDeadlineSeconds, self.?RunPolicy.?activeDeadlineSeconds].filter(y, y.hasValue()).all(y, x == y))",message="activeDeadlineSeconds is set more than once (at the top level, in runPolicy or in RunPolicy) and differs: set it at the top level only"
// +kubebuilder:validation:XValidation:rule="[self.?backoffLimit, self.?runPolicy.?backoffLimit, self.?RunPolicy.?backoffLimit].filter(x, x.hasValue()).all(x, [self.?backoffLimit, self.?runPolicy.?backoffLimit, self.?RunPolicy.?backoffLimit].filter(y, y.hasValue()).all(y, x == y))",message="backoffLimit is set more than once (at the top level, in runPolicy or in RunPolicy) and differs: set it at the top level only"
type ElasticJobSpec struct {
	// rdzvEndpoint is the host:port of a rendezvous that you run, such as etcd. If it is empty, the operator runs a rendezvous server for the
	// job.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	RdzvEndpoint string `json:"rdzvEndpoint,omitempty"`
	// rdzvBackend is torchrun's rendezvous backend: etcd, etcd-v2 or c10d. etcd and etcd-v2 need an rdzvEndpoint. The default is etcd if
	// rdzvEndpoint is set, and c10d otherwise.
	// +optional
	// +kubebuilder:validation:Enum=etcd;etcd-v2;c10d
	RdzvBackend RendezvousBackend `json:"rdzvBackend,omitempty"`
	// minReplicas is the smallest number of workers that training can continue with. The job fails if fewer workers can be active. It is at
	// least 1 and defaults to replicas.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=5000
	MinReplicas *int32 `json:"minReplicas,omitempty"`
	// maxReplicas is the largest number of workers, at least minReplicas. It defaults to replicas.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=5000
	MaxReplicas *int32 `json:"maxReplicas,omitempty"`
	// replicaSpecs describes the workers.
	ReplicaSpecs ReplicaSpecs `json:"replicaSpecs"`

	RunPolicy `json:",inline"`
	// RunPolicy contains the run policy in the place where the upstream controller expects it. Use the fields at the top level instead.
	// +optional
	LegacyRunPolicy *RunPolicy `json:"RunPolicy,omitempty"`
	// runPolicy contains the run policy in the place where related controllers expect it. Use the fields at the top level instead.
	// +optional
	NestedRunPolicy *RunPolicy `json:"runPolicy,omitempty"`

	// successPolicy defines when the job has succeeded. By default, all workers that were not abandoned must have succeeded.
	// +optional
	SuccessPolicy *SuccessPolicy `json:"successPolicy,omitempty"`
	// elasticPolicy sets how long the operator waits before it acts, and how many disruptions it tolerates.
	// +optional
	ElasticPolicy *ElasticPolicy `json:"elasticPolicy,omitempty"`
	// suspend stops all workers while it is true. They start again when it becomes false. Kueue sets it for jobs in a queue.
	// +optional
	Suspend bool `json:"suspend,omitempty"`
	// grantedReplicas is the number of workers that Kueue has admitted, at least minReplicas. The operator runs no more than that. The Kueue
	// integration sets it, and removes it when the admission ends. A job with a queue label but without grantedReplicas is suspended, so no
	// pod starts before the job is admitted.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=5000
	GrantedReplicas *int32 `json:"grantedReplicas,omitempty"`
	// managedBy is the name of the controller that manages the job. This operator manages the job if the field is absent or
	// elastic.pytorch.org/elastic-job-controller, and ignores the job otherwise. The field is immutable.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	ManagedBy *string `json:"managedBy,omitempty"`
}

// RendezvousBackend is one of torchrun's rendezvous backends.
type RendezvousBackend string

// Supported rendezvous backends.
const (
	BackendEtcd   RendezvousBackend = "etcd"
	BackendEtcdV2 RendezvousBackend = "etcd-v2"
	BackendC10d   RendezvousBackend = "c10d"
)

// ReplicaSpecs contains the spec of each replica type. In the upstream API it is a map in which only the Worker key has an effect.
type ReplicaSpecs struct {
	// Worker describes the workers.
	Worker ReplicaSpec `json:"Worker"`
}

// ReplicaSpec describes a set of identical pods.
type ReplicaSpec struct {
	// replicas is the desired number of workers, between minReplicas and maxReplicas. It defaults to maxReplicas if set, then to
	// minReplicas, then to 1. `kubectl scale` and autoscalers change it.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=5000
	Replicas *int32 `json:"replicas,omitempty"`
	// restartPolicy defines what happens when a worker's program fails. With ExitCode (default), the pod is replaced unless the exit code is
	// one of permanentExitCodes. With Never, the worker is not replaced. With OnFailure and Always, the kubelet restarts the container in the
	// pod. Workers that are evicted, preempted or lost are always replaced.
	// +optional
	// +kubebuilder:validation:Enum=Always;OnFailure;Never;ExitCode
	RestartPolicy RestartPolicy `json:"restartPolicy,omitempty"`
	// permanentExitCodes are the exit codes after which a worker is not replaced if restartPolicy is ExitCode. The default is empty, because
	// torchrun exits with 1 after every failure.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:Minimum=1
	// +kubebuilder:validation:items:Maximum=255
	PermanentExitCodes []int32 `json:"permanentExitCodes,omitempty"`
	// template is the template of the pods. Its apiVersion and kind are ignored, and the restartPolicy of the pods is derived from
	// restartPolicy above. Changes apply to pods that are created later.
	Template PodTemplate `json:"template"`
}

// PodTemplate is a pod template that may have an apiVersion and a kind, as in the examples of the upstream controller.
type PodTemplate struct {
	metav1.TypeMeta        `json:",inline"`
	corev1.PodTemplateSpec `json:",inline"`
}

// RestartPolicy defines what happens when a worker's program fails.
type RestartPolicy string

// Restart policies.
const (
	// RestartAlways makes the kubelet restart a container that exits.
	RestartAlways RestartPolicy = "Always"
	// RestartOnFailure makes the kubelet restart a container that fails.
	RestartOnFailure RestartPolicy = "OnFailure"
	// RestartNever abandons a worker whose program fails.
	RestartNever RestartPolicy = "Never"
	// RestartExitCode replaces the pod unless the exit code is permanent.
	RestartExitCode RestartPolicy = "ExitCode"
)

// CleanPodPolicy selects the pods that are deleted when the job has finished.
type CleanPodPolicy string

// Clean pod policies.
const (
	// CleanAll deletes all pods.
	CleanAll CleanPodPolicy = "All"
	// CleanRunning deletes pods that have not terminated.
	CleanRunning CleanPodPolicy = "Running"
	// CleanNone deletes no pods.
	CleanNone CleanPodPolicy = "None"
)

// RunPolicy limits the run time and the failures of a job, and defines when finished jobs and their pods are deleted.
type RunPolicy struct {
	// cleanPodPolicy selects the pods that are deleted when the job has finished: All, Running (only pods that have not terminated) or
	// None. The logs of the other pods remain available. The default is Running if the job is in a queue, to free its quota, and None
	// otherwise.
	// +optional
	// +kubebuilder:validation:Enum=All;Running;None
	CleanPodPolicy *CleanPodPolicy `json:"cleanPodPolicy,omitempty"`
	// ttlSecondsAfterFinished is the number of seconds after which a finished job is deleted. 0 means immediately. By default, the job is
	// not deleted.
	// +optional
	// +kubebuilder:validation:Minimum=0
	TTLSecondsAfterFinished *int32 `json:"ttlSecondsAfterFinished,omitempty"`
	// activeDeadlineSeconds is the number of seconds after its start at which the job fails. Its workers are then stopped, regardless of
	// cleanPodPolicy. The time starts again when the job is resumed. By default, there is no limit.
	// +optional
	// +kubebuilder:validation:Minimum=1
	ActiveDeadlineSeconds *int64 `json:"activeDeadlineSeconds,omitempty"`
	// backoffLimit is how often each worker is replaced, or its container restarted, because its program failed. At the next failure, the
	// worker is abandoned. The default is 3, or no limit with restartPolicy Always.
	// +optional
	// +kubebuilder:validation:Minimum=0
	BackoffLimit *int32 `json:"backoffLimit,omitempty"`
	// schedulingPolicy has no effect, as in the upstream controller. Use Kueue to admit all workers together.
	// +optional
	SchedulingPolicy *SchedulingPolicy `json:"schedulingPolicy,omitempty"`
}

// SchedulingPolicy has no effect. It exists for compatibility with the upstream controller.
type SchedulingPolicy struct {
	// minAvailable has no effect.
	// +optional
	MinAvailable *int32 `json:"minAvailable,omitempty"`
}

// SuccessPolicy defines when the job has succeeded.
//
// +kubebuilder:validation:XValidation:rule="(self.type == 'Percent') == has(self.percent)",message="percent is required with type Percent, and forbidden otherwise"
type SuccessPolicy struct {
	// type is All (every worker that was not abandoned), Any, or Percent.
	// +kubebuilder:validation:Enum=All;Any;Percent
	Type SuccessPolicyType `json:"type"`
	// percent is the percentage of workers that must have succeeded, from 1 to 100. The number of workers is rounded up. It is required with
	// type Percent and forbidden otherwise.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	Percent *int32 `json:"percent,omitempty"`
}

// SuccessPolicyType selects how many workers must have succeeded.
type SuccessPolicyType string

// Success policy types.
const (
	// SuccessAll requires that all workers that were not abandoned succeed, and at least minReplicas of them.
	SuccessAll SuccessPolicyType = "All"
	// SuccessAny requires that one worker succeeds.
	SuccessAny SuccessPolicyType = "Any"
	// SuccessPercent requires that a percentage of the workers succeed.
	SuccessPercent SuccessPolicyType = "Percent"
)

// ElasticPolicy sets how long the operator waits before it acts, and how many disruptions it tolerates.
type ElasticPolicy struct {
	// settleSeconds is how long the job waits before it fails because fewer than minReplicas workers are left. During this time, all failures
	// with the same cause are counted, and replicas or backoffLimit can be raised. The default is 30.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=86400
	SettleSeconds *int32 `json:"settleSeconds,omitempty"`
	// disruptionLimit is how often each worker is replaced because it was evicted, preempted or lost. At the next disruption, the worker is
	// abandoned. By default, there is no limit.
	// +optional
	// +kubebuilder:validation:Minimum=0
	DisruptionLimit *int32 `json:"disruptionLimit,omitempty"`
	// lostNodeSeconds is how long a node may be not ready before its workers are considered lost and are replaced on other nodes. The default
	// is 60.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=86400
	LostNodeSeconds *int32 `json:"lostNodeSeconds,omitempty"`
	// surplusPendingSeconds is how long workers beyond minReplicas may be unschedulable before they are removed, so that they do not occupy
	// quota or make the cluster scale up. 0 means that they are never removed. The default is 600.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=86400
	SurplusPendingSeconds *int32 `json:"surplusPendingSeconds,omitempty"`
	// surplusRetrySeconds is how long the operator waits before it creates the removed workers again. It creates them immediately when
	// replicas changes. The default is 1800.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=604800
	SurplusRetrySeconds *int32 `json:"surplusRetrySeconds,omitempty"`
}
