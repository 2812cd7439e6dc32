package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ElasticJobSpec is what a user asks for. The fields of the run policy are at the top level, as documented; the published controller wrote
// them below RunPolicy, and others of its family have them below runPolicy. All three are read; where two say something, they must agree.
//
// +kubebuilder:validation:XValidation:rule="!has(self.minReplicas) || !has(self.maxReplicas) || self.minReplicas <= self.maxReplicas",message="minReplicas must not be larger than maxReplicas"
// +kubebuilder:validation:XValidation:rule="!has(self.minReplicas) || !has(self.replicaSpecs.Worker.replicas) || self.replicaSpecs.Worker.replicas >= self.minReplicas",message="replicaSpecs.Worker.replicas must not be smaller than minReplicas"
// +kubebuilder:validation:XValidation:rule="!has(self.maxReplicas) || !has(self.replicaSpecs.Worker.replicas) || self.replicaSpecs.Worker.replicas <= self.maxReplicas",message="replicaSpecs.Worker.replicas must not be larger than maxReplicas"
// +kubebuilder:validation:XValidation:rule="!has(self.minReplicas) || !has(self.grantedReplicas) || self.grantedReplicas >= self.minReplicas",message="grantedReplicas must not be smaller than minReplicas"
// +kubebuilder:validation:XValidation:rule="!has(self.rdzvBackend) || self.rdzvBackend == 'c10d' || (has(self.rdzvEndpoint) && size(self.rdzvEndpoint) > 0)",message="rdzvBackend etcd and etcd-v2 need an rdzvEndpoint: the operator's own rendezvous server speaks c10d"
// +kubebuilder:validation:XValidation:rule="has(self.managedBy) == has(oldSelf.managedBy) && (!has(self.managedBy) || self.managedBy == oldSelf.managedBy)",message="managedBy is immutable"
// +kubebuilder:validation:XValidation:rule="[self.?cleanPodPolicy, self.?runPolicy.?cleanPodPolicy, self.?RunPolicy.?cleanPodPolicy].filter(x, x.hasValue()).all(x, [self.?cleanPodPolicy, self.?runPolicy.?cleanPodPolicy, self.?RunPolicy.?cleanPodPolicy].filter(y, y.hasValue()).all(y, x == y))",message="cleanPodPolicy is set more than once (at the top level, in runPolicy or in RunPolicy) and differs: set it at the top level only"
// +kubebuilder:validation:XValidation:rule="[self.?ttlSecondsAfterFinished, self.?runPolicy.?ttlSecondsAfterFinished, self.?RunPolicy.?ttlSecondsAfterFinished].filter(x, x.hasValue()).all(x, [self.?ttlSecondsAfterFinished, self.?runPolicy.?ttlSecondsAfterFinished, self.?RunPolicy.?ttlSecondsAfterFinished].filter(y, y.hasValue()).all(y, x == y))",message="ttlSecondsAfterFinished is set more than once (at the top level, in runPolicy or in RunPolicy) and differs: set it at the top level only"
// +kubebuilder:validation:XValidation:rule="[self.?activeDeadlineSeconds, self.?runPolicy.?activeDeadlineSeconds, self.?RunPolicy.?activeDeadlineSeconds].filter(x, x.hasValue()).all(x, [self.?activeDeadlineSeconds, self.?runPolicy.?activeDeadlineSeconds, self.?RunPolicy.?activeDeadlineSeconds].filter(y, y.hasValue()).all(y, x == y))",message="activeDeadlineSeconds is set more than once (at the top level, in runPolicy or in RunPolicy) and differs: set it at the top level only"
// +kubebuilder:validation:XValidation:rule="[self.?backoffLimit, self.?runPolicy.?backoffLimit, self.?RunPolicy.?backoffLimit].filter(x, x.hasValue()).all(x, [self.?backoffLimit, self.?runPolicy.?backoffLimit, self.?RunPolicy.?backoffLimit].filter(y, y.hasValue()).all(y, x == y))",message="backoffLimit is set more than once (at the top level, in runPolicy or in RunPolicy) and differs: set it at the top level only"
type ElasticJobSpec struct {
	// rdzvEndpoint is host:port of a rendezvous that you run, such as an etcd. Empty or absent: the operator runs a rendezvous server for the
	// job.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	RdzvEndpoint string `json:"rdzvEndpoint,omitempty"`
	// rdzvBackend is torchrun's rendezvous backend: etcd, etcd-v2 or c10d. etcd and etcd-v2 need an rdzvEndpoint. Absent: etcd if rdzvEndpoint
	// is set, else c10d.
	// +optional
	// +kubebuilder:validation:Enum=etcd;etcd-v2;c10d
	RdzvBackend RendezvousBackend `json:"rdzvBackend,omitempty"`
	// minReplicas is with how few workers the training goes on; the job fails if fewer can be active. At least 1. Absent: all of them.
	// +optional
	// +kubebuilder:validation:Minimum=1
	MinReplicas *int32 `json:"minReplicas,omitempty"`
	// maxReplicas bounds the number of workers. At least minReplicas. Absent: replicas.
	// +optional
	// +kubebuilder:validation:Minimum=1
	MaxReplicas *int32 `json:"maxReplicas,omitempty"`
	// replicaSpecs describes the workers.
	ReplicaSpecs ReplicaSpecs `json:"replicaSpecs"`

	RunPolicy `json:",inline"`
	// RunPolicy is where the published controller wrote the run policy.
	// +optional
	WrittenRunPolicy *RunPolicy `json:"RunPolicy,omitempty"`
	// runPolicy is accepted too.
	// +optional
	NestedRunPolicy *RunPolicy `json:"runPolicy,omitempty"`

	// successPolicy says when the job has succeeded. Absent: when all workers have that have not failed for good.
	// +optional
	SuccessPolicy *SuccessPolicy `json:"successPolicy,omitempty"`
	// elasticPolicy says how patient the operator is.
	// +optional
	ElasticPolicy *ElasticPolicy `json:"elasticPolicy,omitempty"`
	// suspend stops all workers while it is true, and lets them run again when it turns false. Queues such as Kueue drive it.
	// +optional
	Suspend bool `json:"suspend,omitempty"`
	// grantedReplicas is how many workers a queue has admitted, and so the most that run; at least minReplicas. The integration of Kueue
	// writes it, and removes it when it takes the quota back. A job with a queue label and without it is suspended, so that no pod starts
	// before the queue has spoken.
	// +optional
	// +kubebuilder:validation:Minimum=1
	GrantedReplicas *int32 `json:"grantedReplicas,omitempty"`
	// managedBy names the controller that answers for the job. Absent, or elastic.pytorch.org/elastic-job-controller: this operator. With
	// any other value it keeps its hands off. Immutable.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	ManagedBy *string `json:"managedBy,omitempty"`
}

// RendezvousBackend is a protocol by which workers find each other.
type RendezvousBackend string

// Backends of the rendezvous.
const (
	BackendEtcd   RendezvousBackend = "etcd"
	BackendEtcdV2 RendezvousBackend = "etcd-v2"
	BackendC10d   RendezvousBackend = "c10d"
)

// ReplicaSpecs holds the workers. The name of the type is the published one: a map of which only this key had a meaning.
type ReplicaSpecs struct {
	// Worker describes the workers.
	Worker ReplicaSpec `json:"Worker"`
}

// ReplicaSpec describes pods that are alike.
type ReplicaSpec struct {
	// replicas is the number of workers wanted, between minReplicas and maxReplicas. Absent: maxReplicas, or else minReplicas, or else 1.
	// `kubectl scale` and autoscalers change it.
	// +optional
	// +kubebuilder:validation:Minimum=1
	Replicas *int32 `json:"replicas,omitempty"`
	// restartPolicy says what follows when a worker's program fails. ExitCode (default): the pod is replaced, whatever the code, unless it
	// is one of permanentExitCodes. Never: it is not replaced. OnFailure, Always: its container is restarted where it is. Workers that are
	// evicted, preempted or lost are replaced always.
	// +optional
	// +kubebuilder:validation:Enum=Always;OnFailure;Never;ExitCode
	RestartPolicy RestartPolicy `json:"restartPolicy,omitempty"`
	// permanentExitCodes are codes after which a worker is not replaced, with restartPolicy ExitCode. None by default: torchrun exits with
	// 1 whatever has happened.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:Minimum=1
	// +kubebuilder:validation:items:Maximum=255
	PermanentExitCodes []int32 `json:"permanentExitCodes,omitempty"`
	// template of the pods. apiVersion and kind may be written and mean nothing; the pods' restartPolicy follows from restartPolicy above.
	// A change holds for pods that are created after it.
	Template PodTemplate `json:"template"`
}

// PodTemplate is a pod template that may carry the apiVersion and kind of a pod, as the published examples do.
type PodTemplate struct {
	metav1.TypeMeta        `json:",inline"`
	corev1.PodTemplateSpec `json:",inline"`
}

// RestartPolicy says what follows when a worker's program fails.
type RestartPolicy string

// Restart policies.
const (
	RestartAlways    RestartPolicy = "Always"
	RestartOnFailure RestartPolicy = "OnFailure"
	RestartNever     RestartPolicy = "Never"
	RestartExitCode  RestartPolicy = "ExitCode"
)

// CleanPodPolicy says which pods are deleted when the job has finished.
type CleanPodPolicy string

// Policies for pods of a finished job.
const (
	CleanAll     CleanPodPolicy = "All"
	CleanRunning CleanPodPolicy = "Running"
	CleanNone    CleanPodPolicy = "None"
)

// RunPolicy says how long the job and its pods live.
type RunPolicy struct {
	// cleanPodPolicy says which pods are deleted when the job has finished: All, Running (those that have not ended) or None, so that their
	// logs can be read. Absent: None, or Running if the job is in a queue, whose quota is somebody else's by then.
	// +optional
	// +kubebuilder:validation:Enum=All;Running;None
	CleanPodPolicy *CleanPodPolicy `json:"cleanPodPolicy,omitempty"`
	// ttlSecondsAfterFinished deletes the job so many seconds after it has finished; 0 means at once. Absent: never.
	// +optional
	// +kubebuilder:validation:Minimum=0
	TTLSecondsAfterFinished *int32 `json:"ttlSecondsAfterFinished,omitempty"`
	// activeDeadlineSeconds fails the job so many seconds after its start, and stops its workers whatever cleanPodPolicy says. A suspension
	// starts the time again. Absent: never.
	// +optional
	// +kubebuilder:validation:Minimum=1
	ActiveDeadlineSeconds *int64 `json:"activeDeadlineSeconds,omitempty"`
	// backoffLimit is how often each worker is replaced, or its container restarted, because its program failed. Once more, and the worker
	// is given up. Absent: 3; with restartPolicy Always, without limit.
	// +optional
	// +kubebuilder:validation:Minimum=0
	BackoffLimit *int32 `json:"backoffLimit,omitempty"`
	// schedulingPolicy is accepted and has no effect, as in the published controller. Kueue admits the workers as a gang.
	// +optional
	SchedulingPolicy *SchedulingPolicy `json:"schedulingPolicy,omitempty"`
}

// SchedulingPolicy is accepted and has no effect.
type SchedulingPolicy struct {
	// minAvailable has no effect.
	// +optional
	MinAvailable *int32 `json:"minAvailable,omitempty"`
}

// SuccessPolicy says when the job has succeeded.
//
// +kubebuilder:validation:XValidation:rule="(self.type == 'Percent') == has(self.percent)",message="percent goes with type Percent, and only with it"
type SuccessPolicy struct {
	// type is All (workers that were given up do not count), Any, or Percent.
	// +kubebuilder:validation:Enum=All;Any;Percent
	Type SuccessPolicyType `json:"type"`
	// percent of the workers that must have succeeded, from 1 to 100, rounded up. Only with type Percent.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	Percent *int32 `json:"percent,omitempty"`
}

// SuccessPolicyType is a rule for success.
type SuccessPolicyType string

// Rules for success.
const (
	SuccessAll     SuccessPolicyType = "All"
	SuccessAny     SuccessPolicyType = "Any"
	SuccessPercent SuccessPolicyType = "Percent"
)

// ElasticPolicy says how patient the operator is. All in seconds.
type ElasticPolicy struct {
	// settleSeconds is how long fewer than minReplicas workers may be possible before the job fails, so that all failures of one fault are
	// seen, and somebody can raise replicas or backoffLimit. Default 30.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=86400
	SettleSeconds *int32 `json:"settleSeconds,omitempty"`
	// disruptionLimit is how often each worker is replaced because it was evicted, preempted or lost. Once more, and the worker is given up.
	// Absent: without limit.
	// +optional
	// +kubebuilder:validation:Minimum=0
	DisruptionLimit *int32 `json:"disruptionLimit,omitempty"`
	// lostNodeSeconds is how long a node may be not ready before its workers count as lost and are replaced elsewhere. Default 60.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=86400
	LostNodeSeconds *int32 `json:"lostNodeSeconds,omitempty"`
	// surplusPendingSeconds is how long workers beyond minReplicas may wait for a node before they are given back, so that other work can
	// have the place they hold in queues and autoscalers. 0 means never. Default 600.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=86400
	SurplusPendingSeconds *int32 `json:"surplusPendingSeconds,omitempty"`
	// surplusRetrySeconds is after how long they are asked for again. A change of replicas asks at once. Default 1800.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=604800
	SurplusRetrySeconds *int32 `json:"surplusRetrySeconds,omitempty"`
}
